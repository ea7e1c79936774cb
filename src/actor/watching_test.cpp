// SPDX-License-Identifier: Apache-2.0
// Ending a watch, and to which watch a `down` belongs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <thread>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/memory/stable_pool.hpp>
#include <troupe/troupe.hpp>
#include <vector>

#include "test_support.hpp"
#include "watching.hpp"

namespace troupe::test {
namespace {

using ::testing::IsEmpty;

class guard;
struct act {
  std::function<void(guard&)> what;
};

// Does what it is sent, and keeps the downs where the test sees them.
class guard : public actor {
 public:
  explicit guard(std::vector<down>& downs) : downs_(downs) {}
  void on(const act& a) { a.what(*this); }
  void on(const down& d) { downs_.push_back(d); }

  using actor::unwatch;
  using actor::watch;

 private:
  std::vector<down>& downs_;
};

// The memory of watches and everything else, in use or not.
std::size_t memory() {
  return stable_pool<detail::watch_slot>::bytes() + detail::actor_slots::bytes() +
         pool_used().resident;
}
constexpr std::size_t little = 600'000;

struct seen {
  std::vector<down> downs;
  journal log;
};

// A stage, a guard, and the journal of what happens there, which outlives both.
struct theatre : seen, stage {
  ref<guard> w = spawn<guard>(downs);

  ~theatre() { w.stop(), play(); }
  void act_now(std::function<void(guard&)> what) {
    w.send(act{std::move(what)});
    play();
  }
};

TEST(unwatch, of_a_living_actor_prevents_the_notification) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  t.act_now([&](guard& g) { EXPECT_TRUE(g.unwatch(g.watch(a))); });
  a.stop();
  t.play();
  EXPECT_THAT(t.downs, IsEmpty());
  EXPECT_THAT(t.told.dead_letters(), IsEmpty());
}

TEST(unwatch, ends_that_watch_alone) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  monitor kept;
  t.act_now([&](guard& g) {
    const monitor first = g.watch(a);
    kept = g.watch(a);
    const monitor third = g.watch(a);
    EXPECT_NE(first, kept);
    EXPECT_TRUE(g.unwatch(first));
    EXPECT_TRUE(g.unwatch(third));
  });
  a.stop();
  t.play();
  ASSERT_EQ(t.downs.size(), 1u);
  EXPECT_EQ(t.downs[0].monitor, kept);
}

TEST(unwatch, removes_a_down_that_is_in_the_mailbox) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  monitor m;
  t.act_now([&](guard& g) { m = g.watch(a); });
  bool ended = false;
  // Both are scheduled in one round: first the actor that terminates, then the guard, whose `down`
  // is after what it was sent before.
  a.stop();
  t.w.send(act{[&](guard& g) { ended = g.unwatch(m); }});
  t.pump.drain();
  t.play();
  EXPECT_TRUE(ended);
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(t.downs, IsEmpty());
}

TEST(unwatch, removes_the_down_of_one_that_had_ended_before) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  a.stop();
  t.play();
  t.act_now([&](guard& g) {
    EXPECT_TRUE(g.unwatch(g.watch(a)));
    EXPECT_TRUE(g.unwatch(g.watch(a.address())));
    EXPECT_TRUE(g.unwatch(g.watch(address{})));
  });
  EXPECT_THAT(t.downs, IsEmpty());
}

TEST(unwatch, returns_whether_the_watch_was_still_active) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  monitor m;
  t.act_now([&](guard& g) {
    m = g.watch(a);
    EXPECT_FALSE(g.unwatch(monitor{}));
    const monitor twice = g.watch(a);
    EXPECT_TRUE(g.unwatch(twice));
    EXPECT_FALSE(g.unwatch(twice));
  });
  a.stop();
  t.play();
  ASSERT_EQ(t.downs.size(), 1u);
  t.act_now([&](guard& g) { EXPECT_FALSE(g.unwatch(m)) << "its down has been handled"; });
}

TEST(unwatch, of_another_ones_watch_is_a_logic_error) {
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  monitor m;
  t.act_now([&](guard& g) { m = g.watch(a); });
  std::vector<down> others;
  const auto other = t.spawn<guard>(others);
  other.send(act{[&](guard& g) { EXPECT_THROW((void)g.unwatch(m), std::logic_error); }});
  t.play();
  a.stop();
  t.play();
  EXPECT_EQ(t.downs.size(), 1u);
}

TEST(unwatch, a_million_times_does_not_grow_memory) {
  constexpr int times = sanitized ? 20'000 : 1'000'000;
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  t.act_now([&](guard& g) { (void)g.unwatch(g.watch(a)); });
  const std::size_t before = memory();
  monitor last;
  t.act_now([&](guard& g) {
    for (int i = 0; i < times; ++i) g.unwatch(last = g.watch(a));
  });
  EXPECT_LE(memory(), before + little);
  monitor fresh;
  t.act_now([&](guard& g) { g.unwatch(fresh = g.watch(a)); });
  EXPECT_NE(last, fresh) << "the same place, another watch";
  EXPECT_EQ(t.system.statistics().messages_waiting, 0u);
}

// State that terminated watchers leave behind at an actor that lives on.
TEST(watch, by_actors_that_end_leaves_nothing_with_the_one_that_lives_on) {
  constexpr int rounds = sanitized ? 20 : 400;
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  std::size_t before = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<ref<guard>> some;
    for (int i = 0; i < 50; ++i) {
      some.push_back(t.spawn<guard>(t.downs));
      some.back().send(act{[&](guard& g) { g.watch(a); }});
    }
    t.play();
    for (const auto& each : some) each.stop();
    some.clear();
    t.play();
    if (round == 1) before = memory();
  }
  EXPECT_LE(memory(), before + little);
  a.stop();
  t.play();
  EXPECT_THAT(t.downs, IsEmpty());
}

TEST(watch, of_one_by_very_many_does_not_take_ever_longer) {
  constexpr int many = sanitized ? 2'000 : 100'000;
  theatre t;
  const auto a = t.spawn<probe>(t.log);
  t.act_now([&](guard& g) {
    for (int i = 0; i < many; ++i) g.watch(a);
  });
  a.stop();
  t.play();
  EXPECT_EQ(t.downs.size(), static_cast<std::size_t>(many));
}

// ── Threads ───────────────────────────────────────────────────────────────────────────────────

struct begin {};
struct over {};

// Watches and unwatches at random, and counts the notifications that it must get.
class restless : public actor {
 public:
  restless(std::vector<ref<probe>> others, unsigned seed, atomic<int>& owed, atomic<int>& got,
           event& done)
      : others_(std::move(others)), seed_(seed), owed_(owed), got_(got), done_(done) {}

  void on(begin) {
    for (int i = 0; i < 20; ++i) {
      seed_ = seed_ * 1664525u + 1013904223u;
      const ref<probe>& other = others_[seed_ >> 16 & (others_.size() - 1)];
      const monitor m = seed_ >> 8 & 1 ? watch(other) : watch(other.address());
      if ((seed_ >> 24 & 3) == 0) {
        mine_.push_back(m);
        ++owed_;
      } else {
        EXPECT_TRUE(unwatch(m));
        EXPECT_FALSE(unwatch(m));
      }
    }
    if (--rounds_ > 0) {
      self(this).send(begin{});
    } else {
      waits_ = true;
      finish();
    }
  }
  void on(const down& d) {
    EXPECT_EQ(std::count(mine_.begin(), mine_.end(), d.monitor), 1) << "once each";
    std::erase(mine_, d.monitor);
    ++got_;
    finish();
  }

 private:
  void finish() {
    if (waits_ && mine_.empty()) done_.set();
  }

  const std::vector<ref<probe>> others_;
  unsigned seed_;
  atomic<int>& owed_;
  atomic<int>& got_;
  event& done_;
  std::vector<monitor> mine_;
  int rounds_ = sanitized ? 20 : 100;
  bool waits_ = false;
};

TEST(unwatch, during_the_termination_of_the_actor_notifies_once_or_never) {
  for (int round = 0; round < (sanitized ? 5 : 20); ++round) {
    journal log;
    recorder told;
    atomic<int> owed{0};
    atomic<int> got{0};
    std::array<event, 3> done;
    troupe::system all(told.options(2));
    std::vector<ref<probe>> others;
    for (int i = 0; i < 8; ++i) others.push_back(all.spawn<probe>(log));
    std::vector<ref<restless>> those;
    for (std::size_t i = 0; i < done.size(); ++i) {
      const auto seed = static_cast<unsigned>(round * 100 + static_cast<int>(i));
      those.push_back(all.spawn<restless>(others, seed, owed, got, done[i]));
      those.back().send(begin{});
    }
    for (const auto& each : others) {
      std::this_thread::yield();
      each.stop();
    }
    for (event& each : done) ASSERT_TRUE(each.wait()) << "round " << round;
    EXPECT_EQ(owed, got);
    EXPECT_THAT(told.dead_letters(), IsEmpty());
  }
}

TEST(watch, by_one_that_ends_against_the_end_of_the_watched_one_loses_nothing) {
  class brief : public actor {
   public:
    explicit brief(ref<probe> other) : other_(std::move(other)) {}
    void on_start() {
      for (int i = 0; i < 4; ++i) watch(other_);
    }
    void on(const down&) { EXPECT_LE(++got_, 4); }

   private:
    const ref<probe> other_;
    int got_ = 0;
  };
  // Watches as often, and stays alive.
  class lasting : public actor {
   public:
    explicit lasting(atomic<int>& got) : got_(got) {}
    void on(const ref<probe>& other) {
      for (int i = 0; i < 4; ++i) watch(other);
    }
    void on(const down&) { ++got_; }

   private:
    atomic<int>& got_;
  };
  constexpr int rounds = sanitized ? 200 : 2'000;
  journal log;
  recorder told;
  atomic<int> got{0};
  {
    troupe::system all(told.options(2));
    const auto stays = all.spawn<lasting>(got);
    for (int round = 0; round < rounds; ++round) {
      const auto a = all.spawn<probe>(log);
      stays.send(ref<probe>(a));
      std::vector<ref<brief>> some;
      for (int i = 0; i < 3; ++i) some.push_back(all.spawn<brief>(a));
      a.stop();
      for (const auto& each : some) each.stop_now();
    }
    EXPECT_TRUE(eventually([&] { return got >= 4 * rounds; })) << got;
    EXPECT_TRUE(eventually([&] { return all.statistics().actors_alive == 1; }));
  }
  EXPECT_EQ(got, 4 * rounds) << "who lives on is told of each end, once for each watch";
  EXPECT_THAT(told.failures(), IsEmpty());
}

}  // namespace
}  // namespace troupe::test
