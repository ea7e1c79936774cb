// SPDX-License-Identifier: Apache-2.0
// Parts that worked once work again: limits, rings, timers and handlers after they have been used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/ask_test_support.hpp"
#include "actor/overload_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;

constexpr auto A = delivery::accepted;
constexpr auto R = delivery::refused;

// ── Deferred messages ─────────────────────────────────────────────────────────────────────────

struct thing {};
struct unlock {};
struct lock_up {};

/// Stashes messages while it is shut.
class closet : public state_machine<closet> {
 public:
  using message_limits = troupe::message_limits<at_most<thing, 3>>;
  static constexpr std::size_t max_deferred = 10;
  explicit closet(int& things) : things_(things) {}

  struct shut : state {
    using defers = troupe::messages<thing>;
  };
  struct open : state {};
  using states = troupe::states<shut, open>;
  using messages = troupe::messages<thing, unlock, lock_up>;

  to<open> on(shut, unlock) { return {}; }
  to<shut> on(open, lock_up) { return {}; }
  void on(open, const thing&) { ++things_; }

 private:
  int& things_;
};

TEST(state_deferral_limits, counts_for_the_limit_of_its_type_until_it_is_handled_and_again) {
  int things = 0;
  pumped_crowd s;
  const auto to = s.system.spawn<closet>(s.here(100, overflow::refuse), things);
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(to.send(thing{}), A);
      s.play();
    }
    EXPECT_EQ(to.send(thing{}), R) << "three are kept";
    to.send(unlock{});
    s.play();
    EXPECT_EQ(things, 3 * round);
    to.send(lock_up{});
    s.play();
  }
}

TEST(state_deferral_limits, counts_for_the_mailbox_until_it_is_handled_and_again) {
  int things = 0;
  pumped_crowd s;
  const auto to = s.system.spawn<closet>(s.here(4, overflow::refuse), things);
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(to.send(thing{}), A);
      s.play();
    }
    EXPECT_EQ(to.send(unlock{}), A) << "round " << round;
    EXPECT_EQ(to.send(unlock{}), R);
    s.play();
    EXPECT_EQ(things, 3 * round);
    EXPECT_EQ(to.send(lock_up{}), A);
    s.play();
    EXPECT_EQ(s.system.statistics().messages_waiting, 0u);
    EXPECT_EQ(s.system.statistics().message_bytes_waiting, 0u);
  }
}

// ── Rings ─────────────────────────────────────────────────────────────────────────────────────

TEST(overload_drop_oldest, bytes_can_be_filled_exactly_and_again) {
  std::vector<int> got;
  pumped_crowd s;
  const auto measure = s.system.spawn<sink>(s.here(100, overflow::drop_oldest), got);
  const std::uint64_t before = s.system.statistics().message_bytes_waiting;
  measure.send(item{0});
  const std::uint64_t one = s.system.statistics().message_bytes_waiting - before;
  s.play();
  spawn_options options = s.here(100, overflow::drop_oldest);
  options.max_bytes = 3 * one;
  const auto to = s.system.spawn<sink>(options, got);
  for (int round = 1; round <= 3; ++round) {
    got.clear();
    for (int i = 0; i < 3; ++i) to.send(item{i});
    s.play();
    EXPECT_THAT(got, ElementsAre(0, 1, 2)) << "they fit exactly";
    got.clear();
    for (int i = 0; i < 4; ++i) to.send(item{i});
    s.play();
    EXPECT_THAT(got, ElementsAre(1, 2, 3));
  }
}

// ── Timers ────────────────────────────────────────────────────────────────────────────────────

struct of_bells {};
struct bell {
  explicit bell(std::function<void()>& when_copied) : does(&when_copied) {}
  bell(const bell& other) : does(other.does) {
    if (*does) std::exchange(*does, nullptr)();
  }
  bell(bell&&) = default;

  std::function<void()>* does;
  counted<of_bells> alive;
};

class ringer : public actor {
 public:
  explicit ringer(int& rings) : rings_(rings) {}
  void on(const bell&) { ++rings_; }

 private:
  int& rings_;
};

TEST(timer, that_is_cancelled_while_its_message_is_copied_keeps_that_until_then_and_no_longer) {
  int rings = 0;
  std::function<void()> when_copied;
  stage on;
  const auto to = on.spawn<ringer>(rings);
  for (int round = 0; round < 3; ++round) {
    timer every = to.send_every(1ms, bell{when_copied});
    bool was_cancelled = false;
    when_copied = [&] {
      const int alive = counted<of_bells>::alive();
      EXPECT_TRUE(every.cancel());
      EXPECT_EQ(counted<of_bells>::alive(), alive) << "the one that is copied lives";
      was_cancelled = true;
    };
    EXPECT_TRUE(eventually([&] {
      on.play();
      return was_cancelled;
    }));
    on.play();
    EXPECT_EQ(counted<of_bells>::alive(), 0);
    EXPECT_EQ(on.system.statistics().timers_armed, 0u);
  }
}

TEST(timer, periods_that_the_actor_could_not_handle_are_counted) {
  int rings = 0;
  std::function<void()> nothing;
  stage on;
  const auto to = on.spawn<ringer>(rings);
  on.play();
  timer every = to.send_every(1ms, bell{nothing});
  EXPECT_TRUE(eventually([&] { return on.system.statistics().ticks_skipped >= 3; }))
      << "the pump does not run";
  EXPECT_TRUE(every.cancel());
  on.play();
}

// ── Handlers that are held up ─────────────────────────────────────────────────────────────────

TEST(exclusive_task, holds_up_the_same_handler_twice) {
  journal log;
  stage on;
  const auto other = on.spawn<oracle>();
  const auto gate = on.spawn<oracle>();
  const auto who = on.spawn<asker_actor>(log);
  who.send(work{[other](asker_actor& me) -> task<> {
    for (int i = 0; i < 2; ++i) {
      me.log.write("asks");
      (void)co_await other.ask<add>(patience, 1, 2);
      me.log.write("is answered");
    }
  }});
  for (int i = 0; i < 2; ++i) {
    who.send(exclusive_work{[gate](asker_actor& me) -> task<> {
      me.log.write("begins");
      (void)co_await gate.ask<answer_later>(patience);
      me.log.write("ends");
    }});
  }
  on.play();
  gate.send(answer_now{0});
  on.play();
  gate.send(answer_now{0});
  on.play();
  EXPECT_THAT(log.lines(), ElementsAre("asks", "begins", "ends", "is answered", "asks", "begins",
                                       "ends", "is answered"));
}

}  // namespace
}  // namespace troupe::test
