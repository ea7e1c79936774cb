// SPDX-License-Identifier: Apache-2.0
// Supervisors: termination together with their children, and nested supervisors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(supervisor, children_handle_pending_messages_before_they_stop) {
  script a("a");
  school on;
  on.open({}, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  on.head.stop();
  child.send(say{"still"});
  on.play();
  EXPECT_THAT(a.log.lines(), ElementsAre("made", "started", "still", "stopped", "destroyed"));
}

TEST(supervisor, stays_alive_without_references) {
  script a("a");
  school on;
  on.open({}, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  on.head = {};
  on.tell(child, say{"here"});
  EXPECT_EQ(a.log.lines().back(), "here");
}

TEST(supervisor, one_that_waits_to_be_restarted_is_stopped_too) {
  script a("a");
  school on;
  on.open({.min_backoff = 10h, .max_backoff = 10h}, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  on.tell(child, fail{"why not"});
  EXPECT_EQ(on.list()[0].now, child_status::state::waiting);
  on.head.stop();
  on.play();
  EXPECT_EQ(child.join(), exit_reason::failed);
  EXPECT_EQ(on.head.join(), exit_reason::stopped);
}

TEST(supervisor, stop_now_ends_one_that_waits_to_be_restarted) {
  script a("a");
  school on;
  on.open({.min_backoff = 10h, .max_backoff = 10h}, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  child.send(fail{"why not"});
  child.send(say{"never"});
  on.play();
  child.stop_now();
  on.play();
  EXPECT_EQ(child.join(), exit_reason::stopped_now);
  EXPECT_EQ(on.told.dead_letters().size(), 1u);
  EXPECT_EQ(on.list()[0].now, child_status::state::ended);
}

TEST(supervisor, stop_now_stops_its_children) {
  script a("a"), b("b");
  school on;
  on.open({}, on.pupil_of(a), on.pupil_of(b));
  const ref<pupil> child = on.find("a");
  on.head.stop_now();
  on.play();
  EXPECT_EQ(on.head.join(), exit_reason::stopped_now);
  EXPECT_EQ(child.join(), exit_reason::stopped);
  EXPECT_EQ(a.alive + b.alive, 0);
}

TEST(supervisor, destroying_the_pump_terminates_its_children_for_good) {
  script a("a");
  recorder told;
  troupe::system system(told.options());
  auto pump = std::make_unique<troupe::pump>(system);
  const auto head = system.spawn<supervisor>(
      at_once, child_spec(child<pupil>("a", std::ref(a)).options({.where = bound_to(*pump)})));
  ASSERT_TRUE(eventually([&] { return pump->run_until_idle(), a.alive == 1; }));
  pump.reset();
  EXPECT_EQ(a.alive, 0);
  EXPECT_EQ(a.objects, 1);
  head.stop();
  EXPECT_EQ(head.join(), exit_reason::stopped);
}

TEST(supervisor, abandons_a_child_that_does_not_stop_and_names_it) {
  event let_go;
  script a("a"), b("b");
  recorder told;
  troupe::system system(told.options());
  const auto head = system.spawn<supervisor>(
      at_once, child_spec(child<pupil>("a", std::ref(a))),
      child_spec(child<pupil>("b", std::ref(b)).stop_timeout(1ms).options({.where = own_thread})));
  const auto hangs = head.ask<find_child<pupil>>(patience, "b").get().value();
  event hanging;
  hangs.send(std::function<void(pupil&)>([&](pupil&) {
    hanging.set();
    let_go.wait();
  }));
  ASSERT_TRUE(hanging.wait());
  head.stop();
  EXPECT_EQ(head.join(), exit_reason::failed);
  EXPECT_EQ(a.alive, 0);
  EXPECT_EQ(b.alive, 1);
  EXPECT_THAT(told.failures().back().what,
              HasSubstr("its child \"b\" has not stopped within 1 ms after stop_now(); it is in "
                        "std::function"));
  let_go.set();
  EXPECT_EQ(hangs.join(), exit_reason::stopped_now);
}

TEST(supervisor, a_child_that_does_not_start_is_its_failure) {
  event let_go;
  script a("a");
  a.at_start = [&](int) { let_go.wait(); };
  recorder told;
  troupe::system system(told.options());
  const auto head =
      system.spawn<supervisor>(at_once, child_spec(child<pupil>("a", std::ref(a))
                                                       .start_timeout(1ms)
                                                       .stop_timeout(1ms)
                                                       .options({.where = own_thread})));
  EXPECT_EQ(head.join(), exit_reason::failed);
  EXPECT_THAT(told.failures().back().what,
              HasSubstr("its child \"a\" has not started within 1 ms"));
  let_go.set();
}

TEST(supervisor, a_child_that_has_been_stopped_is_not_restarted_with_others) {
  script a("a"), b("b");
  recorder told;
  troupe::system system(told.options());
  supervision rules = at_once;
  rules.strategy = restart_strategy::one_for_all;
  const auto head = system.spawn<supervisor>(
      rules, child_spec(child<pupil>("a", std::ref(a))),
      child_spec(child<pupil>("b", std::ref(b)).options({.where = own_thread})));
  const auto fails = head.ask<find_child<pupil>>(patience, "a").get().value();
  const auto stops = head.ask<find_child<pupil>>(patience, "b").get().value();
  const auto b_now = [&] { return head.ask<list_children>(patience).get().value()[1].now; };
  stops.send(std::function<void(pupil&)>([&](pupil&) {
    (void)detail::this_turn().running->end_after_this_message();  // as the message of stop() does
    fails.send(fail{"why not"});
    EXPECT_TRUE(eventually([&] { return b_now() == child_status::state::stopping; }));
  }));
  ASSERT_TRUE(stops.join_for(patience));
  EXPECT_EQ(stops.join(), exit_reason::stopped);
  EXPECT_EQ(fails.ask<which_object>(patience).get().value(), 2);
  EXPECT_EQ(b.objects, 1);
}

TEST(supervisor, abandons_a_child_that_does_not_stop_for_a_restart_and_names_it) {
  event let_go;
  script a("a"), b("b");
  recorder told;
  troupe::system system(told.options());
  supervision rules = at_once;
  rules.strategy = restart_strategy::one_for_all;
  const auto head = system.spawn<supervisor>(
      rules, child_spec(child<pupil>("a", std::ref(a))),
      child_spec(child<pupil>("b", std::ref(b)).stop_timeout(1ms).options({.where = own_thread})));
  const auto fails = head.ask<find_child<pupil>>(patience, "a").get().value();
  const auto hangs = head.ask<find_child<pupil>>(patience, "b").get().value();
  event hanging;
  hangs.send(std::function<void(pupil&)>([&](pupil&) {
    hanging.set();
    let_go.wait();
  }));
  ASSERT_TRUE(hanging.wait());
  fails.send(fail{"why not"});
  EXPECT_TRUE(head.join_for(5s));
  EXPECT_EQ(b.alive, 1);
  let_go.set();
  EXPECT_EQ(head.join(), exit_reason::failed);
  EXPECT_EQ(hangs.join(), exit_reason::stopped_now);
  EXPECT_THAT(told.failures().back().what, HasSubstr("its child \"b\" has not stopped"));
}

// ── Nested supervisors ────────────────────────────────────────────────────────────────────────

TEST(supervisor, a_failed_supervisor_is_restarted_by_its_own_supervisor) {
  script a("a");
  school on;
  supervision inner = at_once;
  inner.max_restarts = 0;
  auto group = child<supervisor>("group", inner, child_spec(on.pupil_of(a)))
                   .options({.where = bound_to(on.pump)});
  on.open(at_once, group);
  auto answer = on.head.ask<find_child<supervisor>>(patience, "group");
  on.play();
  const auto below = std::move(answer).get().value();
  const auto child_now = [&] {
    auto found = below.ask<find_child<pupil>>(patience, "a");
    on.play();
    return std::move(found).get().value();
  };
  const ref<pupil> before = child_now();
  on.tell(before, fail{"why not"});
  EXPECT_EQ(before.join(), exit_reason::failed);
  const ref<pupil> now = child_now();
  EXPECT_NE(now, before);
  on.tell(now, say{"again"});
  EXPECT_EQ(a.log.lines().back(), "again");
  on.head.stop();
  on.play();
  EXPECT_EQ(a.alive, 0);
}

TEST(supervisor, ignores_notifications_from_children_of_its_previous_incarnation) {
  script a("a");
  school on;
  auto group = child<supervisor>("group", at_once, child_spec(on.pupil_of(a)))
                   .options({.where = bound_to(on.pump)});
  on.open(at_once, group);
  auto answer = on.head.ask<find_child<supervisor>>(patience, "group");
  on.play();
  const auto below = std::move(answer).get().value();
  auto found = below.ask<find_child<pupil>>(patience, "a");
  on.play();
  const ref<pupil> before = std::move(found).get().value();
  // Its note is in the mailbox of the lower supervisor when that one gets its next incarnation.
  before.send(std::function<void(pupil&)>([&](pupil&) {
    below.stop_now();
    throw std::runtime_error("why not");
  }));
  on.play();
  EXPECT_NE(before.join(), exit_reason::unknown);
  EXPECT_EQ(a.objects, 2);
  auto all = below.ask<list_children>(patience);
  on.play();
  const std::vector<child_status> now = std::move(all).get().value();
  EXPECT_EQ(now[0].now, child_status::state::running);
  EXPECT_EQ(now[0].restarts, 0u);
}

}  // namespace
}  // namespace troupe::test
