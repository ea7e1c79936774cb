// SPDX-License-Identifier: Apache-2.0
// The rows `stop` and `stop_now` of the contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/troupe.hpp>

#include "actor/test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Writes down where it is.
steps told_in(journal& log) {
  return {.at_start = [&log](probe&) { log.write("on_start"); },
          .at_stop = [&log](probe&) { log.write("on_stop"); }};
}

TEST(contract, stop_of_a_starting_actor_is_handled_after_on_start_and_earlier_messages) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, told_in(log));
  a.send(note{"before"});
  a.stop();
  a.send(note{"after"});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "before", "on_stop", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_EQ(s.told.dead_letters().size(), 1u);
}

TEST(contract, stop_of_a_running_actor_terminates_it_after_earlier_messages) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, told_in(log));
  s.play();
  a.send(note{"1"});
  a.send(note{"2"});
  a.stop();
  a.send(note{"3"});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "1", "2", "on_stop", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_EQ(s.told.dead_letters().size(), 1u);
}

TEST(contract, stop_by_a_running_actor_itself_is_handled_after_earlier_messages) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, told_in(log));
  a.send(call{[&](probe& me) {
    me.me().send(note{"before"});
    me.stop();
    me.me().send(note{"after"});
    log.write("handler ends");
  }});
  s.play();
  EXPECT_THAT(log.lines(),
              ElementsAre("on_start", "handler ends", "before", "on_stop", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(contract, stop_of_an_idle_actor_terminates_it) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, told_in(log));
  s.play();
  a.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "on_stop", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped);
}

TEST(contract, stop_of_a_stopping_actor_has_no_effect) {
  journal log;
  stage s;
  const auto stop_again = [&](probe& me) {
    log.write("still here");
    me.stop();
  };
  const auto a = s.spawn<probe>(log, steps{.at_stop = stop_again, .at_end = stop_again});
  a.stop();
  a.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("still here", "still here", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
}

TEST(contract, stop_of_a_terminated_actor_has_no_effect) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.stop_now();
  s.play();
  a.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
}

TEST(contract, stop_now_of_a_starting_actor_terminates_it_after_on_start) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, told_in(log));
  a.send(note{"before"});
  a.stop_now();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "on_stop", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
  EXPECT_EQ(s.told.dead_letters().size(), 1u);
}

TEST(contract, stop_now_during_on_start_terminates_the_actor_after_on_start) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, steps{.at_start = [&](probe& me) {
                                  me.me().send(note{"to itself"});
                                  me.me().stop_now();
                                  log.write("on_start ends");
                                }});
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("on_start ends", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
}

TEST(contract, stop_now_of_a_running_actor_terminates_it_after_the_current_message) {
  journal log;
  recorder told;
  event handling;
  event told_to_stop;
  event watched;
  system s{told.options()};
  const auto watcher = s.spawn<probe>(log);
  const auto a = s.spawn<probe>(log, told_in(log));
  watcher.send(call{[&](probe& me) {
    me.watch(a);
    watched.set();
  }});
  ASSERT_TRUE(watched.wait());
  a.send(call{[&](probe&) {
    handling.set();
    told_to_stop.wait();
    log.write("handler ends");
  }});
  a.send(note{"1"});
  a.send(note{"2"});
  a.stop();
  ASSERT_TRUE(handling.wait());
  a.stop_now();
  told_to_stop.set();
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
  EXPECT_EQ(told.dead_letters().size(), 2u);
  std::size_t left = 0;
  watcher.send(call{[&](probe& me) { left = me.last_down.unhandled; }});
  watcher.stop();
  watcher.join();
  EXPECT_EQ(left, 2u);
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "handler ends", "on_stop", "destroyed",
                                       "down: stopped_now", "destroyed"));
}

TEST(contract, stop_now_of_an_idle_actor_terminates_it) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log, told_in(log));
  s.play();
  a.stop_now();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("on_start", "on_stop", "destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped_now);
}

TEST(contract, stop_now_of_a_stopping_actor_has_no_effect) {
  journal log;
  stage s;
  const auto now = [&](probe& me) { me.me().stop_now(); };
  const auto a = s.spawn<probe>(log, steps{.at_stop = now, .at_end = now});
  a.stop();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
}

TEST(contract, stop_now_of_a_terminated_actor_has_no_effect) {
  journal log;
  stage s;
  const auto a = s.spawn<probe>(log);
  a.stop();
  s.play();
  a.stop_now();
  s.play();
  EXPECT_THAT(log.lines(), ElementsAre("destroyed"));
  EXPECT_EQ(a.join(), exit_reason::stopped);
  EXPECT_THAT(s.told.dead_letters(), IsEmpty());
}

}  // namespace
}  // namespace troupe::test
