// SPDX-License-Identifier: Apache-2.0
// The order in which messages arrive, as docs/contract/messages-and-ordering.md lists it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <thread>
#include <troupe/troupe.hpp>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

struct numbered {
  int sender;
  int number;
};

// Expects `each` messages from every one of `senders`, in order.
class listener : public actor {
 public:
  listener(int senders, int each)
      : next_(static_cast<std::size_t>(senders)), left_(senders * each) {}
  void on(numbered n) {
    ASSERT_EQ(n.number, next_[static_cast<std::size_t>(n.sender)]++) << "from " << n.sender;
    if (--left_ == 0) stop();
  }

 private:
  std::vector<int> next_;
  int left_;
};

TEST(message_order, from_each_thread_is_as_sent) {
  constexpr int senders = 4;
  constexpr int each = sanitized ? 3'000 : 20'000;
  system s{{.workers = 2}};
  const auto to = s.spawn<listener>(senders, each);
  std::vector<std::thread> threads;
  for (int n = 0; n < senders; ++n) {
    threads.emplace_back([=] {
      for (int i = 0; i < each; ++i) to.send(numbered{n, i});
    });
  }
  EXPECT_EQ(to.join_for(patience), exit_reason::stopped);
  for (std::thread& thread : threads) thread.join();
}

TEST(message_order, from_each_actor_is_as_sent_wherever_they_run) {
  struct go {};
  // Sends a few on each of its turns, so that it moves between workers.
  class talker : public actor {
   public:
    talker(ref<listener> to, int me, int each) : to_(std::move(to)), me_(me), each_(each) {}
    void on(go) {
      for (int i = 0; i < 10 && sent_ < each_; ++i) to_.send(numbered{me_, sent_++});
      if (sent_ < each_) self(this).send(go{});
    }

   private:
    const ref<listener> to_;
    const int me_;
    const int each_;
    int sent_ = 0;
  };
  constexpr int each = sanitized ? 2'000 : 10'000;
  stage s{2};
  for (const placement to_where : {pool, own_thread, bound_to(s.pump)}) {
    const auto to = s.system.spawn<listener>(spawn_options{.where = to_where}, 6, each);
    int sender = 0;
    for (const placement where : {pool, pool, own_thread, own_thread}) {
      s.system.spawn<talker>(spawn_options{.where = where}, to, sender++, each).send(go{});
    }
    std::thread one([&] {
      for (int i = 0; i < each; ++i) to.send(numbered{4, i});
    });
    for (int i = 0; i < each; ++i) to.send(numbered{5, i});
    EXPECT_EQ(to.join_for(patience), exit_reason::stopped);
    one.join();
  }
}

// A sends to B and then to C; C, because of that, to B. B must receive A's message first.
TEST(message_order, is_causal) {
  struct first {
    int round;
  };
  struct second {
    int round;
  };
  class b : public actor {
   public:
    explicit b(event& done, int rounds) : done_(done), rounds_(rounds) {}
    void on(first m) { EXPECT_EQ(m.round, heard_++); }
    void on(second m) {
      EXPECT_LT(m.round, heard_) << "C was heard before A";
      if (m.round == rounds_ - 1) done_.set();
    }

   private:
    event& done_;
    const int rounds_;
    int heard_ = 0;
  };
  class c : public actor {
   public:
    explicit c(ref<b> to) : to_(std::move(to)) {}
    void on(second m) { to_.send(m); }

   private:
    const ref<b> to_;
  };
  class a : public actor {
   public:
    a(ref<b> to_b, ref<c> to_c) : b_(std::move(to_b)), c_(std::move(to_c)) {}
    void on(int round) {
      b_.send(first{round});
      c_.send(second{round});
    }

   private:
    const ref<b> b_;
    const ref<c> c_;
  };
  constexpr int rounds = sanitized ? 3'000 : 20'000;
  const std::array<std::array<placement, 3>, 5> cases{{{pool, pool, pool},
                                                       {own_thread, own_thread, own_thread},
                                                       {pool, own_thread, pool},
                                                       {pool, pool, own_thread},
                                                       {own_thread, pool, pool}}};
  for (const auto& [at_a, at_b, at_c] : cases) {
    event done;
    system s{{.workers = 3}};
    const auto to_b = s.spawn<b>(spawn_options{.where = at_b}, done, rounds);
    const auto to_c = s.spawn<c>(spawn_options{.where = at_c}, to_b);
    const auto from = s.spawn<a>(spawn_options{.where = at_a}, to_b, to_c);
    for (int i = 0; i < rounds; ++i) from.send(int{i});
    EXPECT_TRUE(done.wait());
  }
}

TEST(message_order, stop_is_a_message_like_others_and_stop_now_overtakes_all) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  const auto b = s.spawn<probe>(log);
  s.play();
  for (const auto& each : {a, b}) {
    each.send(note{"before"});
    each.stop();
    each.send(note{"after"});
  }
  b.stop_now();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("before", "destroyed", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_EQ(b.join(), exit_reason::stopped_now);
}

TEST(message_order, down_arrives_after_all_messages_of_the_terminated_actor) {
  class dying : public actor {
   public:
    explicit dying(ref<probe> heir) : heir_(std::move(heir)) {}
    ~dying() { heir_.send(note{"from the destructor"}); }
    void on(int n) {
      for (int i = 0; i < n; ++i) heir_.send(note{"from a handler"});
    }
    void on_stop() { heir_.send(note{"from on_stop"}); }

   private:
    const ref<probe> heir_;
  };
  constexpr int words = 200;
  journal logs[2][50];
  system s{{.workers = 2}};
  for (const placement where : {pool, own_thread}) {
    for (journal& log : logs[where.where() == pool.where()]) {
      const auto heir = s.spawn<probe>(log);
      auto a = s.spawn<dying>(spawn_options{.where = where}, heir);
      event watched;
      // Through the ref and through the address, and once while it may be terminating.
      heir.send(call{[&, where_a = a.address()](probe& me) {
        me.watch(a);
        me.watch(where_a);
        watched.set();
      }});
      ASSERT_TRUE(watched.wait());
      a.send(int{words});
      a.stop();
      heir.send(call{[a](probe& me) { me.watch(a); }});
      constexpr std::size_t lines = words + 2 + 3;
      ASSERT_TRUE(log.wait_for(lines));
      const auto said = log.lines();
      for (std::size_t i = 0; i < lines; ++i) {
        EXPECT_EQ(said[i].starts_with("down"), i >= lines - 3) << i << ": " << said[i];
      }
    }
  }
}

}  // namespace
}  // namespace troupe::test
