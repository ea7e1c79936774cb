// SPDX-License-Identifier: Apache-2.0
// The rows `last reference goes` and `weak_ref::lock` of the contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records why `whom` terminates.
ref<probe> watch_over(stage& s, journal& log, const address& whom) {
  auto w = s.spawn<probe>(log);
  w.send(call{[=](probe& me) { me.watch(whom); }});
  s.play();
  return w;
}

TEST(contract, releasing_the_last_reference_to_a_starting_actor_lets_it_finish_first) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log, steps{.at_start =
                                         [&](probe& me) {
                                           log.write("on_start");
                                           me.me().send(note{"sent by on_start"});
                                           me.me().send_after(1ms, note{"a timer of on_start"});
                                         },
                                     .at_stop = [&](probe&) { log.write("on_stop"); }});
  const auto w = s.spawn<probe>(log);
  w.send(call{[where = a.address()](probe& me) { me.watch(where); }});
  a.send(note{"sent before"});
  a = {};
  s.pump.run_until_idle();
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return log.lines().size() == 7;
  }));
  EXPECT_THAT(log.lines(),
              ElementsAre("on_start", "sent before", "sent by on_start", "a timer of on_start",
                          "on_stop", "destroyed", "down: unreachable"));
}

TEST(contract, releasing_the_last_reference_to_a_running_actor_makes_it_unreachable) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log, steps{.at_stop = [&](probe&) { log.write("on_stop"); }});
  const auto w = watch_over(s, log, a);
  a.send(note{"sent before"});
  a = {};
  EXPECT_THAT(log.lines(), IsEmpty()) << "it ends on a turn of its own";
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("sent before", "on_stop", "destroyed", "down: unreachable"));
}

TEST(contract, releasing_the_last_reference_to_a_running_actor_waits_for_its_timers) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  const auto w = watch_over(s, log, a);
  a.send_after(1ms, note{"timer"});
  a = {};
  s.play();
  ASSERT_TRUE(eventually([&] {
    s.pump.drain();
    return log.lines().size() == 3;
  }));
  EXPECT_THAT(log.lines(), ElementsAre("timer", "destroyed", "down: unreachable"));
}

TEST(contract, releasing_the_last_reference_to_a_stopping_actor_has_no_effect) {
  journal log;
  stage s;
  ref<probe> a;
  a = s.spawn<probe>(log, steps{.at_stop = [&](probe&) { a = {}; },
                                .at_end = [&](probe&) { log.write("destructor"); }});
  const auto w = watch_over(s, log, a);
  a.stop();
  s.play();
  EXPECT_FALSE(a);
  EXPECT_THAT(log.lines(), ElementsAre("destructor", "destroyed", "down: stopped"));
}

TEST(contract, releasing_the_last_reference_to_a_terminated_actor_frees_its_memory) {
  class plain : public actor {};
  // "4f3a80.2": the slot, and which of its actors.
  const auto slot = [](const ref<plain>& of) {
    const std::string text = to_string(of.address());
    return text.substr(0, text.find('.'));
  };
  constexpr int actors = 2'000;
  stage s;
  std::set<std::string> slots;
  for (int i = 0; i < actors; ++i) {
    const auto a = s.spawn<plain>();
    a.stop();
    s.play();
    slots.insert(slot(a));
  }
  EXPECT_LT(slots.size(), 100u);

  // As long as the references are held, no other actor gets their slots.
  std::vector<ref<plain>> held;
  slots.clear();
  for (int i = 0; i < actors; ++i) {
    held.push_back(s.spawn<plain>());
    held.back().stop();
    s.play();
    slots.insert(slot(held.back()));
  }
  EXPECT_EQ(slots.size(), std::size_t{actors});
}

TEST(contract, weak_ref_lock_of_a_starting_actor_gives_a_ref) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  const weak_ref<probe> weak = a;
  EXPECT_EQ(weak.lock(), a);
}

TEST(contract, weak_ref_lock_during_the_constructor_and_on_start_gives_a_ref) {
  class locker : public actor {
   public:
    locker() { EXPECT_TRUE(weak_ref<locker>(self(this)).lock()); }
    void on_start() { EXPECT_TRUE(weak_ref<locker>(self(this)).lock()); }
  };
  stage s;
  const auto a = s.spawn<locker>();
  s.play();
}

TEST(contract, weak_ref_lock_of_a_running_actor_gives_a_ref) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  s.play();
  const weak_ref<probe> weak = a;
  auto locked = weak.lock();
  EXPECT_EQ(locked, a);
  a = {};
  s.play();
  EXPECT_THAT(log.lines(), IsEmpty()) << "what lock() gave keeps it alive";
  EXPECT_EQ(locked.send(note{"still here"}), delivery::accepted);
  locked = {};
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("still here", "destroyed"));
}

TEST(contract, weak_ref_lock_of_a_stopping_actor_is_empty) {
  journal log;
  stage s;
  weak_ref<probe> weak;
  const auto look = [&](probe&) { log.write(weak.lock() ? "a ref" : "empty"); };
  const auto a = s.spawn<probe>(log, steps{.at_stop = look, .at_end = look});
  weak = a;
  a.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("empty", "empty", "destroyed"));
}

TEST(contract, weak_ref_lock_of_a_terminated_actor_is_empty) {
  journal log;
  stage s;
  auto a = s.spawn<probe>(log);
  const weak_ref<probe> weak = a;
  a.stop();
  s.play();
  EXPECT_FALSE(weak.lock()) << "ended, but still held";
  a = {};
  EXPECT_FALSE(weak.lock()) << "ended, and the slot is free";
  const auto next = s.spawn<probe>(log);
  EXPECT_FALSE(weak.lock()) << "ended, and somebody else may live in its slot";
}

}  // namespace
}  // namespace troupe::test
