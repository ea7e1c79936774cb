// SPDX-License-Identifier: Apache-2.0
// Supervisors: when children are started and restarted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>
#include <utility>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ── Starting ──────────────────────────────────────────────────────────────────────────────────

TEST(supervisor, a_child_starts_when_the_one_before_it_has_started) {
  script a("a"), b("b");
  a.at_start = [](int object) {
    if (object < 3) throw std::runtime_error("not yet");
  };
  b.in_constructor = [&](int) { EXPECT_THAT(a.log.lines().back(), "started"); };
  school on;
  on.open(at_once, on.pupil_of(a), on.pupil_of(b));
  EXPECT_EQ(a.objects, 3);
  EXPECT_EQ(b.objects, 1);
}

TEST(supervisor, messages_sent_before_the_start_are_handled_after_it) {
  script a("a"), b("b");
  school on;
  const child_spec second = on.pupil_of(b);
  const auto first = child<pupil>("a", [&](const siblings& its) {
                       its.get<pupil>("b").send(say{"sent by a"});
                       return pupil(a);
                     }).options({.where = bound_to(on.pump)});
  on.open({}, first, second);
  EXPECT_THAT(b.log.lines(), ElementsAre("made", "started", "sent by a"));
}

TEST(supervisor, an_unknown_sibling_is_named_in_the_failure) {
  script a("a");
  school on;
  on.open({.max_restarts = 0}, child<pupil>("a", [&](const siblings& its) {
                                 (void)its.get<pupil>("b");
                                 return pupil(a);
                               }).options({.where = bound_to(on.pump)}));
  ASSERT_EQ(on.told.failures().size(), 2u);
  EXPECT_THAT(on.told.failures()[0].what, HasSubstr("the sibling \"b\" does not exist"));
}

TEST(supervisor, a_sibling_of_another_class_is_named) {
  journal log;
  script a("a");
  school on;
  on.open({.max_restarts = 0}, child<probe>("p", std::ref(log)),
          child<pupil>("a", [&](const siblings& its) {
            (void)its.get<pupil>("p");
            return pupil(a);
          }).options({.where = bound_to(on.pump)}));
  ASSERT_TRUE(on.play_until([&] { return on.told.failures().size() == 2; }));
  EXPECT_THAT(on.told.failures()[0].what, AllOf(HasSubstr("the sibling \"p\" is a "),
                                                HasSubstr("probe, not a "), HasSubstr("pupil")));
}

TEST(supervisor, two_children_of_one_name_are_refused) {
  script a("a");
  school on;
  EXPECT_THROW(on.spawn<supervisor>(supervision{}, on.pupil_of(a), on.pupil_of(a)),
               std::invalid_argument);
}

TEST(supervisor, rules_that_make_no_sense_are_refused) {
  school on;
  for (const supervision& wrong :
       {supervision{.min_backoff = -1ms}, supervision{.min_backoff = 2s, .max_backoff = 1s},
        supervision{.jitter = 1.5}, supervision{.within = 0s}}) {
    EXPECT_THROW(on.spawn<supervisor>(wrong), std::invalid_argument);
  }
}

TEST(supervisor, finds_its_children_by_name_and_class) {
  script a("a");
  school on;
  on.open({}, on.pupil_of(a));
  EXPECT_TRUE(on.find("a"));
  EXPECT_FALSE(on.find("b"));
  auto other = on.head.ask<find_child<probe>>(patience, "a");
  on.play();
  EXPECT_FALSE(std::move(other).get().value());
}

// ── Restarting ────────────────────────────────────────────────────────────────────────────────

TEST(supervisor, a_reference_to_a_failed_child_reaches_the_next_incarnation) {
  script a("a");
  school on;
  on.open(at_once, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  on.tell(child, fail{"why not"});
  on.tell(child, say{"again"});
  EXPECT_THAT(a.log.lines(),
              ElementsAre("made", "started", "destroyed", "made", "started", "again"));
  EXPECT_EQ(on.find("a"), child);
  EXPECT_EQ(on.told.failures().size(), 1u);
  EXPECT_EQ(on.system.statistics().restarts, 1u);
}

TEST(supervisor, the_mailbox_stays_but_for_the_message_that_failed_it) {
  script a("a");
  school on;
  on.open(at_once, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  child.send(say{"before"});
  child.send(fail{"why not"});
  child.send(say{"after"});
  on.play();
  EXPECT_THAT(a.log.lines(),
              ElementsAre("made", "started", "before", "destroyed", "made", "started", "after"));
  EXPECT_THAT(on.told.dead_letters(), IsEmpty());
}

TEST(supervisor, a_forgotten_mailbox_is_dead_letters) {
  script a("a");
  school on;
  on.open(at_once, on.pupil_of(a).clear_mailbox());
  const ref<pupil> child = on.find("a");
  child.send(fail{"why not"});
  child.send(say{"after"});
  auto answer = child.ask<which_object>(patience);
  on.play();
  on.tell(child, say{"later"});
  EXPECT_THAT(a.log.lines(),
              ElementsAre("made", "started", "destroyed", "made", "started", "later"));
  EXPECT_EQ(on.told.dead_letters().size(), 2u);
  EXPECT_EQ(std::move(answer).get().error(), ask_error::failed);
  EXPECT_EQ(on.system.statistics().messages_waiting, 0u);
}

TEST(supervisor, a_pending_stop_stops_the_next_incarnation) {
  script a("a");
  school on;
  on.open(at_once, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  child.send(fail{"why not"});
  child.stop();
  on.play();
  EXPECT_EQ(child.join(), exit_reason::stopped);
  EXPECT_EQ(a.objects, 2);
}

TEST(supervisor, a_child_that_was_stopped_stays_so) {
  script a("a");
  school on;
  on.open(at_once, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  child.stop();
  on.play();
  EXPECT_EQ(child.join(), exit_reason::stopped);
  EXPECT_EQ(a.objects, 1);
  EXPECT_EQ(on.list()[0].now, child_status::state::ended);
  EXPECT_FALSE(on.find("a"));
}

TEST(supervisor, restart_always_brings_back_one_that_was_stopped) {
  script a("a");
  school on;
  on.open(at_once, on.pupil_of(a).restart_policy(restart::always));
  const ref<pupil> child = on.find("a");
  child.stop();
  on.tell(child, say{"again"});
  EXPECT_THAT(a.log.lines(),
              ElementsAre("made", "started", "stopped", "destroyed", "made", "started", "again"));
}

TEST(supervisor, restart_never_lets_one_go_that_failed) {
  script a("a");
  school on;
  on.open(at_once, on.pupil_of(a).restart_policy(restart::never));
  const ref<pupil> child = on.find("a");
  on.tell(child, fail{"why not"});
  EXPECT_EQ(child.join(), exit_reason::failed);
  EXPECT_EQ(on.list()[0].now, child_status::state::ended);
  EXPECT_EQ(on.list()[0].what, "why not");
}

TEST(supervisor, stop_now_is_a_failure) {
  script a("a");
  school on;
  on.open(at_once, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  child.send(say{"left"});
  child.stop_now();
  on.play();
  EXPECT_THAT(a.log.lines(),
              ElementsAre("made", "started", "stopped", "destroyed", "made", "started", "left"));
}

TEST(supervisor, a_throwing_constructor_is_a_failure_like_others) {
  script a("a");
  a.in_constructor = [](int object) {
    if (object == 2) throw std::runtime_error("cannot be made");
  };
  school on;
  on.open(at_once, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  on.tell(child, fail{"why not"});
  on.tell(child, say{"again"});
  EXPECT_EQ(a.objects, 3);
  EXPECT_EQ(a.log.lines().back(), "again");
  ASSERT_EQ(on.told.failures().size(), 2u);
  EXPECT_EQ(on.told.failures()[1].message, "its constructor");
}

TEST(supervisor, on_stop_that_throws_fails_the_child) {
  script a("a");
  a.at_stop = [&] {
    if (a.objects == 1) throw std::runtime_error("cannot stop");
  };
  school on;
  on.open(at_once, on.pupil_of(a).restart_policy(restart::always));
  const ref<pupil> child = on.find("a");
  child.stop();
  on.play();
  EXPECT_EQ(a.objects, 2);
  EXPECT_EQ(on.list()[0].what, "cannot stop");
}

TEST(supervisor, too_many_failures_of_a_child_fail_the_supervisor) {
  script a("a"), b("b");
  school on;
  supervision rules = at_once;
  rules.max_restarts = 2;
  on.open(rules, on.pupil_of(a), on.pupil_of(b));
  const ref<pupil> child = on.find("a");
  for (int i = 0; i < 3; ++i) on.tell(child, fail{"why not"});
  EXPECT_EQ(on.head.join(), exit_reason::failed);
  EXPECT_EQ(child.join(), exit_reason::failed);
  EXPECT_EQ(a.alive + b.alive, 0);
  EXPECT_EQ(b.log.lines().back(), "destroyed");
  EXPECT_THAT(
      on.told.failures().back().what,
      HasSubstr(
          "its child \"a\" terminated again (failed: why not) after 2 restarts within 10000 ms"));
}

TEST(supervisor, restarts_that_lie_apart_are_not_too_many) {
  script a("a");
  school on;
  supervision rules = at_once;
  rules.max_restarts = 1;
  rules.within = 1ms;
  on.open(rules, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  for (int i = 2; i < 5; ++i) {
    const time_point then = clock::now();
    ASSERT_TRUE(on.play_until([&] { return clock::now() > then + 2ms; }));
    on.tell(child, fail{"why not"});
    ASSERT_EQ(a.objects, i);
  }
}

TEST(supervisor, waits_before_it_restarts) {
  script a("a");
  school on;
  on.open({.min_backoff = 20ms, .max_backoff = 20ms, .jitter = 0}, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  const time_point then = clock::now();
  child.send(fail{"why not"});
  ASSERT_TRUE(on.play_until([&] { return a.objects == 2; }));
  EXPECT_GE(clock::now() - then, 20ms);
}

TEST(supervisor, a_restart_that_becomes_due_while_it_looks_is_not_forgotten) {
  script a("a");
  school on;
  on.open(
      {.max_restarts = supervision::unlimited, .min_backoff = 2us, .max_backoff = 2us, .jitter = 1},
      on.pupil_of(a).start_timeout(10h));
  const ref<pupil> child = on.find("a");
  for (int object = 2; object <= 500; ++object) {
    child.send(fail{"why not"});
    ASSERT_TRUE(on.play_until([&] { return a.objects == object; }));
  }
}

TEST(supervisor, restarts_leave_no_timers_armed) {
  script a("a");
  school on;
  on.open({.max_restarts = supervision::unlimited, .min_backoff = 1us, .max_backoff = 1us},
          on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  for (int object = 2; object <= 50; ++object) {
    child.send(fail{"why not"});
    ASSERT_TRUE(on.play_until([&] { return a.objects == object; }));
  }
  on.play();
  EXPECT_LE(on.system.statistics().timers_armed, 1u);
}

}  // namespace
}  // namespace troupe::test
