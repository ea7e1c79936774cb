// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

TEST(spawn, runs_the_constructor_on_the_callers_thread) {
  class born : public actor {
   public:
    explicit born(std::thread::id caller) { EXPECT_EQ(std::this_thread::get_id(), caller); }
  };
  stage s;
  for (const placement where : {pool, own_thread, bound_to(s.pump)}) {
    s.system.spawn<born>(spawn_options{.where = where}, std::this_thread::get_id());
  }
}

TEST(spawn, forwards_the_constructors_arguments) {
  class picky : public actor {
   public:
    picky(std::unique_ptr<int> moved, const std::string& text, int& referred, journal& log) {
      referred = *moved;
      log.write(text);
    }
  };
  journal log;
  stage s;
  int referred = 0;
  const auto a = s.spawn<picky>(std::make_unique<int>(42), "text", referred, log);
  EXPECT_EQ(referred, 42);
  EXPECT_THAT(log.lines(), ElementsAre("text"));
}

// Throws in its constructor, after it has given its address to others.
class stillborn : public actor {
 public:
  struct traces {
    ref<stillborn> self;
  };
  struct here {};
  explicit stillborn(traces& left) {
    left.self = self(this);
    EXPECT_EQ(left.self.send(1), delivery::accepted);
    left.self.send_after(1h, 1);
    throw std::runtime_error("stillborn");
  }
  void on(int) { ADD_FAILURE() << "handled without an object"; }
  void on_start() { ADD_FAILURE() << "started without an object"; }
  void on_stop() { ADD_FAILURE() << "stopped without an object"; }

 private:
  counted<here> member_;
};

TEST(spawn, rethrows_the_exception_of_a_constructor_and_leaves_nothing_behind) {
  class impossible : public actor {
   public:
    impossible() { throw std::runtime_error("impossible"); }
    void on_start() { ADD_FAILURE(); }

   private:
    counted<impossible> member_;
  };
  stage s;
  for (const placement where : {pool, own_thread, bound_to(s.pump)}) {
    try {
      s.system.spawn<impossible>(spawn_options{.where = where});
      ADD_FAILURE() << "did not throw";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "impossible");
    }
    EXPECT_EQ(s.system.statistics().actors_alive, 0u);
  }
  EXPECT_EQ(counted<impossible>::alive(), 0);
  EXPECT_TRUE(s.system.shutdown(patience).complete());
}

TEST(spawn, whose_constructor_threw_leaves_references_as_to_one_that_failed) {
  journal log;
  stage s;
  for (const placement where : {pool, own_thread, bound_to(s.pump)}) {
    stillborn::traces left;
    EXPECT_THROW(s.system.spawn<stillborn>(spawn_options{.where = where}, left),
                 std::runtime_error);
    ASSERT_TRUE(left.self);
    EXPECT_EQ(left.self.join_for(patience), exit_reason::failed);
    EXPECT_EQ(left.self.send(1), delivery::refused);
    EXPECT_FALSE(weak_ref<stillborn>(left.self).lock());
    const auto w = s.spawn<probe>(log);
    w.send(call{[&](probe& me) { me.watch(left.self); }});
    s.play();
  }
  s.play();
  EXPECT_EQ(counted<stillborn::here>::alive(), 0);
  EXPECT_EQ(s.system.statistics().timers_armed, 0u);
  EXPECT_THAT(log.lines(), ElementsAre("down: failed", "destroyed", "down: failed", "destroyed",
                                       "down: failed", "destroyed"));
}

TEST(spawn, inside_a_handler_and_inside_a_constructor_works) {
  class nest : public actor {
   public:
    nest(class system& s, int depth) {
      if (depth > 0) inner_ = s.spawn<nest>(s, depth - 1);
    }
    void on(int) { stop(); }

   private:
    ref<nest> inner_;
  };
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.send(call{[](probe& me) { me.system().spawn<nest>(me.system(), 10); }});
  EXPECT_EQ(a.join_for(0s), std::nullopt);
  EXPECT_TRUE(eventually([&] { return s.system.statistics().actors_alive == 1; }));
  EXPECT_EQ(s.system.statistics().actors_spawned, 12u);
}

TEST(spawn, works_inside_a_base_class_that_is_constructed_before_actor) {
  class other : public actor {};
  struct spawns_first {
    explicit spawns_first(class system& s) { s.spawn<other>(); }
  };
  class late : private spawns_first, public actor {
   public:
    explicit late(class system& s) : spawns_first(s) {}
    void on(int) { stop(); }
  };
  system s{{.workers = 1}};
  const auto a = s.spawn<late>(s);
  a.send(1);
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(spawn, is_the_only_way_to_make_an_actor) {
  class plain : public actor {};
  EXPECT_THROW(plain(), std::logic_error);
  class has_member : public actor {
    plain member_;
  };
  system s{{.workers = 1}};
  EXPECT_THROW(s.spawn<has_member>(), std::logic_error);
  EXPECT_THROW(plain(), std::logic_error);
  EXPECT_EQ(s.statistics().actors_alive, 0u);
}

TEST(spawn, names_an_actor_for_itself_and_for_reports) {
  journal log;
  stage s;
  const auto unnamed = s.spawn<probe>(log);
  const auto named = s.system.spawn<probe>({.name = "alice", .where = bound_to(s.pump)}, log);
  const call write_name{[&](probe& me) { log.write(me.name()); }};
  unnamed.send(write_name);
  named.send(write_name);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre(std::string(type_name<probe>()), "alice"));
}

TEST(spawn, keeps_names_private_so_that_several_may_have_the_same) {
  journal log;
  stage s;
  const spawn_options alice{.name = "alice", .where = bound_to(s.pump)};
  const auto a = s.system.spawn<probe>(alice, log);
  const auto b = s.system.spawn<probe>(alice, log);
  EXPECT_NE(a, b);
  std::vector<probe*> who;
  const call write_name{[&](probe& me) {
    log.write(me.name());
    who.push_back(&me);
  }};
  a.send(write_name);
  b.send(write_name);
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("alice", "alice"));
  ASSERT_EQ(who.size(), 2u);
  EXPECT_NE(who[0], who[1]) << "each got its own message";
  a.stop();
  s.play();
  b.send(note{"still there"});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("alice", "alice", "destroyed", "still there"));
}

// Actors of all sizes and alignments are aligned.
template <std::size_t Bytes, std::size_t Alignment>
class shaped : public actor {
 public:
  void on(unsigned char value) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes_.data()) % Alignment, 0u);
    bytes_.fill(value);
    for (const unsigned char each : bytes_) EXPECT_EQ(each, value);
    stop();
  }

 private:
  alignas(Alignment) std::array<unsigned char, Bytes> bytes_{};
};

template <class A>
void shape_works(system& s) {
  std::vector<ref<A>> several;
  for (unsigned char i = 0; i < 8; ++i) several.push_back(s.spawn<A>());
  for (unsigned char i = 0; i < 8; ++i) several[i].send(i);
  for (const auto& each : several) EXPECT_EQ(each.join_for(patience), exit_reason::stopped);
}

TEST(spawn, gives_actors_of_any_size_and_alignment_their_place) {
  system s{{.workers = 1}};
  shape_works<shaped<1, 1>>(s);
  shape_works<shaped<16, 16>>(s);
  shape_works<shaped<300, 32>>(s);
  shape_works<shaped<64, 64>>(s);
  shape_works<shaped<128, 128>>(s);
  shape_works<shaped<4096, 4096>>(s);
  shape_works<shaped<1000, 8>>(s);
  shape_works<shaped<100'000, 8>>(s);
  shape_works<shaped<1'000'000, 64>>(s);
}

TEST(spawn, from_many_threads_makes_as_many_actors) {
  class plain : public actor {
   public:
    void on(int) { stop(); }
  };
  constexpr int each = sanitized ? 500 : 3'000;
  system s{{.workers = 2}};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&] {
      for (int i = 0; i < each; ++i) s.spawn<plain>().send(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return s.statistics().actors_alive == 0; }));
  EXPECT_EQ(s.statistics().actors_spawned, 4u * each);
}

}  // namespace
}  // namespace troupe::test
