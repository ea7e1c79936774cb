// SPDX-License-Identifier: Apache-2.0
// The rows `send_after, send_every` and `timer::cancel` of the contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/troupe.hpp>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct in_this_file {};

// A message that shows when it is freed.
struct parcel {
  counted<in_this_file> alive;
};
int parcels() { return counted<in_this_file>::alive(); }

// Arms, cancels, and counts what arrives; asks the test what to do when it terminates.
class receiver : public actor {
 public:
  explicit receiver(std::function<void(receiver&)> at_stop = {},
                    std::function<void(receiver&)> at_end = {})
      : at_stop_(std::move(at_stop)), at_end_(std::move(at_end)) {}
  ~receiver() {
    if (at_end_) at_end_(*this);
  }
  void on_start() {}
  void on_stop() {
    if (at_stop_) at_stop_(*this);
  }
  void on(const parcel&) { ++arrived; }
  void on(const std::function<void(receiver&)>& what) { what(*this); }
  [[nodiscard]] self_ref<receiver> me() { return self(this); }

  int arrived = 0;

 private:
  std::function<void(receiver&)> at_stop_;
  std::function<void(receiver&)> at_end_;
};

using act = std::function<void(receiver&)>;

std::uint64_t armed(const stage& s) { return s.system.statistics().timers_armed; }

// Waits until something more has been put into a mailbox: a timer has fired.
template <class Arm>
auto arm_and_wait_until_it_fires(const stage& s, Arm&& arm) {
  const auto before = s.system.statistics().messages_accepted;
  auto armed = arm();
  EXPECT_TRUE(eventually([&] { return s.system.statistics().messages_accepted > before; }));
  return armed;
}

timer arm_into_the_mailbox(const stage& s, const ref<receiver>& to, bool repeated) {
  return arm_and_wait_until_it_fires(
      s, [&] { return repeated ? to.send_every(1us, parcel{}) : to.send_after(1us, parcel{}); });
}

TEST(contract, send_after_to_a_starting_actor_is_armed) {
  stage s;
  const auto a = s.spawn<receiver>();
  arm_and_wait_until_it_fires(s, [&] { return a.send_after(1us, parcel{}); });
  a.send(act{[](receiver& me) {
    EXPECT_EQ(me.arrived, 1);
    me.me().stop();
  }});
  a.join();
  EXPECT_EQ(parcels(), 0);
}

TEST(contract, send_every_to_a_starting_actor_is_armed) {
  stage s;
  const auto a = s.spawn<receiver>();
  timer t = arm_and_wait_until_it_fires(s, [&] { return a.send_every(1us, parcel{}); });
  a.send(act{[](receiver& me) { EXPECT_EQ(me.arrived, 1); }});
  s.pump.drain();
  EXPECT_TRUE(t.cancel());
  EXPECT_EQ(parcels(), 0);
}

TEST(contract, send_after_and_send_every_to_a_running_actor_are_armed) {
  stage s;
  const auto a = s.spawn<receiver>();
  s.play();
  timer every = a.send_every(1us, parcel{});
  a.send_after(1us, act{[&](receiver& me) {
                 EXPECT_TRUE(every.cancel());
                 me.me().send_after(1us, act{[](receiver& self) { self.me().stop(); }});
               }});
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_EQ(parcels(), 0);
}

TEST(contract, send_after_and_send_every_to_a_stopping_actor_are_armed_until_termination) {
  stage s;
  const auto arm_both = [&](receiver& me) {
    const auto before = armed(s);
    me.me().send_after(1h, parcel{});
    me.me().send_after(0s, parcel{});
    me.me().send_every(1us, parcel{});
    EXPECT_GE(armed(s), before + 2);
  };
  const auto a = s.spawn<receiver>(arm_both, arm_both);
  a.stop();
  s.play();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_EQ(armed(s), 0u);
  EXPECT_EQ(parcels(), 0);
}

TEST(contract, send_after_and_send_every_to_a_terminated_actor_are_dead_letters) {
  stage s;
  const auto a = s.spawn<receiver>();
  a.stop();
  s.play();
  timer after = a.send_after(1us, parcel{});
  timer every = a.send_every(1us, parcel{});
  EXPECT_EQ(armed(s), 0u);
  EXPECT_FALSE(after.cancel());
  EXPECT_FALSE(every.cancel());
  EXPECT_EQ(parcels(), 0);
  const auto dead = s.told.dead_letters();
  ASSERT_EQ(dead.size(), 2u);
  for (const dead_letter& each : dead) {
    EXPECT_EQ(each.to, a.address());
    EXPECT_EQ(each.message, type_name<parcel>());
  }
}

TEST(contract, cancel_of_a_starting_actors_timer_cancels) {
  stage s;
  const auto a = s.spawn<receiver>();
  timer after = a.send_after(1h, parcel{});
  timer every = a.send_every(1h, parcel{});
  EXPECT_EQ(armed(s), 2u);
  EXPECT_EQ(parcels(), 2);
  EXPECT_TRUE(after.cancel());
  EXPECT_TRUE(every.cancel());
  EXPECT_EQ(armed(s), 0u);
  EXPECT_EQ(parcels(), 0) << "freed at once";
}

TEST(contract, cancel_of_a_running_actors_timer_cancels) {
  stage s;
  const auto a = s.spawn<receiver>();
  s.play();
  timer after = a.send_after(1h, parcel{});
  timer every = a.send_every(1h, parcel{});
  EXPECT_EQ(parcels(), 2);
  EXPECT_TRUE(after.cancel());
  EXPECT_EQ(parcels(), 1) << "freed at once";
  EXPECT_TRUE(every.cancel());
  EXPECT_EQ(parcels(), 0);
  EXPECT_EQ(armed(s), 0u);
  EXPECT_FALSE(after.cancel()) << "the second time";
  EXPECT_FALSE(every.cancel());
}

TEST(contract, cancel_within_a_running_actors_turn_removes_a_tick_in_its_mailbox) {
  for (const bool repeated : {false, true}) {
    stage s;
    const auto a = s.spawn<receiver>();
    s.play();
    timer t;
    a.send(act{[&](receiver&) { EXPECT_TRUE(t.cancel()); }});
    t = arm_into_the_mailbox(s, a, repeated);
    EXPECT_EQ(parcels(), 1) << "in the mailbox, behind the message that cancels";
    s.play();
    EXPECT_EQ(parcels(), 0);
    a.send(act{[](receiver& me) { EXPECT_EQ(me.arrived, 0); }});
    s.play();
    EXPECT_EQ(armed(s), 0u);
    EXPECT_THAT(s.told.dead_letters(), IsEmpty());
  }
}

TEST(contract, cancel_removes_a_tick_in_the_mailbox_and_frees_it_at_once) {
  for (const bool repeated : {false, true}) {
    stage s;
    const auto a = s.spawn<receiver>();
    s.play();
    timer t = arm_into_the_mailbox(s, a, repeated);
    EXPECT_TRUE(t.cancel());
    EXPECT_EQ(parcels(), 0);
    EXPECT_EQ(armed(s), 0u);
    EXPECT_FALSE(t.cancel());
    // Its tick is still on its way; it must not affect the timers that are armed now.
    std::vector<timer> more;
    for (int i = 0; i < 5; ++i) {
      more.push_back(arm_and_wait_until_it_fires(s, [&] { return a.send_after(1us, parcel{}); }));
    }
    EXPECT_FALSE(t.cancel());
    EXPECT_TRUE(more.back().cancel());
    a.send(act{[](receiver& me) { EXPECT_EQ(me.arrived, 4); }});
    s.play();
    EXPECT_EQ(parcels(), 0);
    EXPECT_EQ(armed(s), 0u);
    for (timer& each : more) EXPECT_FALSE(each.cancel());
  }
}

TEST(contract, a_tick_in_the_mailbox_of_an_actor_that_stops_now_is_freed) {
  for (const bool repeated : {false, true}) {
    stage s;
    const auto a = s.spawn<receiver>();
    s.play();
    timer t = arm_into_the_mailbox(s, a, repeated);
    a.stop_now();
    s.play();
    EXPECT_EQ(a.join(), exit_reason::stopped_now);
    EXPECT_EQ(parcels(), 0);
    EXPECT_EQ(armed(s), 0u);
    EXPECT_FALSE(t.cancel());
    EXPECT_THAT(s.told.dead_letters(), IsEmpty());
  }
}

TEST(contract, cancel_of_a_stopping_actors_timer_cancels) {
  journal log;
  stage s;
  timer before;
  const auto cancel_both = [&](receiver& me) {
    log.write(before.cancel() ? "cancelled" : "was cancelled");
    EXPECT_EQ(parcels(), 0);
    timer fresh = me.me().send_every(1h, parcel{});
    EXPECT_EQ(parcels(), 1);
    EXPECT_TRUE(fresh.cancel());
    EXPECT_EQ(parcels(), 0);
    EXPECT_EQ(armed(s), 0u);
  };
  const auto a = s.spawn<receiver>(cancel_both, cancel_both);
  before = a.send_after(1h, parcel{});
  a.stop();
  s.play();
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(log.lines(), ElementsAre("cancelled", "was cancelled"));
}

TEST(contract, cancel_of_a_terminated_actors_timer_is_false) {
  stage s;
  const auto a = s.spawn<receiver>();
  s.play();
  timer after = a.send_after(1h, parcel{});
  timer every = a.send_every(1h, parcel{});
  a.stop();
  s.play();
  EXPECT_EQ(armed(s), 0u) << "they ended with the actor";
  EXPECT_EQ(parcels(), 0);
  EXPECT_FALSE(after.cancel());
  EXPECT_FALSE(every.cancel());
}

TEST(contract, cancel_after_the_system_is_destroyed_is_false) {
  timer t;
  {
    stage s;
    t = s.spawn<receiver>().send_after(1h, parcel{});
  }
  EXPECT_EQ(parcels(), 0);
  EXPECT_FALSE(t.cancel());
}

}  // namespace
}  // namespace troupe::test
