// SPDX-License-Identifier: Apache-2.0
// Supervisors: when children start, when they come back, and when everything ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>
#include <utility>
#include <vector>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using strategy = supervision::strategy;

constexpr supervision at_once{.first = 0ms, .longest = 0ms};

// Everything on the test's thread.
struct school : stage {
  child_spec pupil_of(script& does) {
    return child<pupil>(does.name, std::ref(does)).spawned({.where = bound_to(pump)});
  }
  template <class... Children>
  ref<supervisor> open(const supervision& rules, const Children&... children) {
    head = spawn<supervisor>(rules, child_spec(children)...);
    play();
    return head;
  }
  ref<pupil> find(const std::string& name) {
    auto answer = head.ask<find_child<pupil>>(patience, name);
    play();
    return std::move(answer).get().value();
  }
  std::vector<child_status> list() {
    auto answer = head.ask<list_children>(patience);
    play();
    return std::move(answer).get().value();
  }
  template <class Handle, class Message>
  void tell(const Handle& whom, Message message) {
    whom.send(std::move(message));
    play();
  }
  // For what timers bring about.
  template <class Condition>
  [[nodiscard]] bool play_until(Condition&& condition) {
    return eventually([&] {
      play();
      return condition();
    });
  }

  ref<supervisor> head;
};

// ── Starting ──────────────────────────────────────────────────────────────────────────────────

TEST(supervisor, children_start_in_their_order) {
  journal all;
  script a("a"), b("b");
  a.also = b.also = &all;
  school on;
  on.open({}, on.pupil_of(a), on.pupil_of(b));
  EXPECT_THAT(all.lines(), ElementsAre("a made", "a started", "b made", "b started"));
}

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

TEST(supervisor, what_is_sent_before_the_start_waits_for_it) {
  script a("a"), b("b");
  school on;
  const child_spec second = on.pupil_of(b);
  const auto first = child<pupil>("a", [&](const siblings& its) {
                       its.get<pupil>("b").send(say{"sent by a"});
                       return pupil(a);
                     }).spawned({.where = bound_to(on.pump)});
  on.open({}, first, second);
  EXPECT_THAT(b.log.lines(), ElementsAre("made", "started", "sent by a"));
}

TEST(supervisor, a_sibling_that_is_not_there_is_named) {
  script a("a");
  school on;
  on.open({.most = 0}, child<pupil>("a", [&](const siblings& its) {
                         (void)its.get<pupil>("b");
                         return pupil(a);
                       }).spawned({.where = bound_to(on.pump)}));
  ASSERT_EQ(on.told.failures().size(), 2u);
  EXPECT_THAT(on.told.failures()[0].what, HasSubstr("there is no sibling \"b\""));
}

TEST(supervisor, a_sibling_of_another_class_is_named) {
  journal log;
  script a("a");
  school on;
  on.open({.most = 0}, child<probe>("p", std::ref(log)),
          child<pupil>("a", [&](const siblings& its) {
            (void)its.get<pupil>("p");
            return pupil(a);
          }).spawned({.where = bound_to(on.pump)}));
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
       {supervision{.first = -1ms}, supervision{.first = 2s, .longest = 1s},
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

// ── Coming back ───────────────────────────────────────────────────────────────────────────────

TEST(supervisor, a_failed_child_is_another_object_behind_the_same_handle) {
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
  on.open(at_once, on.pupil_of(a).forgets_mailbox());
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

TEST(supervisor, stop_is_a_message_for_the_next_object_too) {
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
  on.open(at_once, on.pupil_of(a).restarted(restart::always));
  const ref<pupil> child = on.find("a");
  child.stop();
  on.tell(child, say{"again"});
  EXPECT_THAT(a.log.lines(),
              ElementsAre("made", "started", "stopped", "destroyed", "made", "started", "again"));
}

TEST(supervisor, restart_never_lets_one_go_that_failed) {
  script a("a");
  school on;
  on.open(at_once, on.pupil_of(a).restarted(restart::never));
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
  on.open(at_once, on.pupil_of(a).restarted(restart::always));
  const ref<pupil> child = on.find("a");
  child.stop();
  on.play();
  EXPECT_EQ(a.objects, 2);
  EXPECT_EQ(on.list()[0].what, "cannot stop");
}

TEST(supervisor, too_many_failures_are_its_own) {
  script a("a"), b("b");
  school on;
  supervision rules = at_once;
  rules.most = 2;
  on.open(rules, on.pupil_of(a), on.pupil_of(b));
  const ref<pupil> child = on.find("a");
  for (int i = 0; i < 3; ++i) on.tell(child, fail{"why not"});
  EXPECT_EQ(on.head.join(), exit_reason::failed);
  EXPECT_EQ(child.join(), exit_reason::failed);
  EXPECT_EQ(a.alive + b.alive, 0);
  EXPECT_EQ(b.log.lines().back(), "destroyed");
  EXPECT_THAT(on.told.failures().back().what,
              HasSubstr("its child \"a\" ended again (failed: why not) after 2 restarts within "
                        "10000 ms"));
}

TEST(supervisor, restarts_that_lie_apart_are_not_too_many) {
  script a("a");
  school on;
  supervision rules = at_once;
  rules.most = 1;
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

// ── Several ───────────────────────────────────────────────────────────────────────────────────

struct three_scripts {
  journal all;
  script a{"a"}, b{"b"}, c{"c"};
};

struct three : three_scripts, school {
  explicit three(strategy which) {
    supervision rules = at_once;
    rules.restarts = which;
    a.also = b.also = c.also = &all;
    open(rules, pupil_of(a), pupil_of(b), pupil_of(c));
    begun = all.lines().size();
  }
  // What has happened since the start.
  [[nodiscard]] std::vector<std::string> since() const {
    auto lines = all.lines();
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(begun));
    return lines;
  }
  std::size_t begun = 0;
};

TEST(supervisor, one_for_one_restarts_one) {
  three on(strategy::one_for_one);
  on.tell(on.find("b"), fail{"why not"});
  EXPECT_THAT(on.since(), ElementsAre("b destroyed", "b made", "b started"));
}

TEST(supervisor, one_for_all_stops_in_reverse_and_starts_in_order) {
  three on(strategy::one_for_all);
  on.tell(on.find("b"), fail{"why not"});
  EXPECT_THAT(on.since(),
              ElementsAre("b destroyed", "c stopped", "c destroyed", "a stopped", "a destroyed",
                          "a made", "a started", "b made", "b started", "c made", "c started"));
  for (const child_status& each : on.list()) EXPECT_EQ(each.restarts, 1u);
}

TEST(supervisor, rest_for_one_leaves_those_before_it_alone) {
  three on(strategy::rest_for_one);
  on.tell(on.find("b"), fail{"why not"});
  EXPECT_THAT(on.since(), ElementsAre("b destroyed", "c stopped", "c destroyed", "b made",
                                      "b started", "c made", "c started"));
}

TEST(supervisor, a_restart_of_others_keeps_what_they_were_sent) {
  three on(strategy::one_for_all);
  const ref<pupil> a = on.find("a");
  on.a.at_stop = [&] { a.send(say{"stays"}); };
  on.tell(on.find("b"), fail{"why not"});
  EXPECT_EQ(on.a.log.lines().back(), "stays");
  on.a.at_stop = {};
}

TEST(supervisor, two_that_fail_together_are_restarted_together) {
  three on(strategy::one_for_all);
  const ref<pupil> a = on.find("a");
  const ref<pupil> c = on.find("c");
  a.send(fail{"why not"});
  c.send(fail{"me too"});
  on.play();
  EXPECT_EQ(on.a.alive + on.b.alive + on.c.alive, 3);
  EXPECT_LE(on.a.objects, 3);
  for (const child_status& each : on.list()) EXPECT_EQ(each.now, child_status::state::running);
}

// ── Stopping ──────────────────────────────────────────────────────────────────────────────────

TEST(supervisor, stops_its_children_in_reverse_order_before_it_ends) {
  three on(strategy::one_for_one);
  on.head.stop();
  on.play();
  EXPECT_EQ(on.head.join(), exit_reason::stopped);
  EXPECT_THAT(on.since(), ElementsAre("c stopped", "c destroyed", "b stopped", "b destroyed",
                                      "a stopped", "a destroyed"));
}

TEST(supervisor, children_handle_what_they_were_sent_before_they_stop) {
  script a("a");
  school on;
  on.open({}, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  on.head.stop();
  child.send(say{"still"});
  on.play();
  EXPECT_THAT(a.log.lines(), ElementsAre("made", "started", "still", "stopped", "destroyed"));
}

TEST(supervisor, the_end_of_the_system_stops_them_in_order) {
  three on(strategy::one_for_one);
  EXPECT_TRUE(on.system.shutdown(patience).complete());
  EXPECT_THAT(on.since(), ElementsAre("c stopped", "c destroyed", "b stopped", "b destroyed",
                                      "a stopped", "a destroyed"));
}

TEST(supervisor, it_stays_when_nobody_refers_to_it) {
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
  on.open({.first = 10h, .longest = 10h}, on.pupil_of(a));
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
  on.open({.first = 10h, .longest = 10h}, on.pupil_of(a));
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

TEST(supervisor, its_own_sudden_end_stops_its_children) {
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

TEST(supervisor, the_end_of_the_pump_ends_its_children_for_good) {
  script a("a");
  recorder told;
  troupe::system system(told.options());
  auto pump = std::make_unique<troupe::pump>(system);
  const auto head = system.spawn<supervisor>(
      at_once, child_spec(child<pupil>("a", std::ref(a)).spawned({.where = bound_to(*pump)})));
  ASSERT_TRUE(eventually([&] { return pump->run_until_idle(), a.alive == 1; }));
  pump.reset();
  EXPECT_EQ(a.alive, 0);
  EXPECT_EQ(a.objects, 1);
  head.stop();
  EXPECT_EQ(head.join(), exit_reason::stopped);
}

TEST(supervisor, a_child_that_does_not_stop_is_left_behind_and_named) {
  event let_go;
  script a("a"), b("b");
  recorder told;
  troupe::system system(told.options());
  const auto head = system.spawn<supervisor>(
      at_once, child_spec(child<pupil>("a", std::ref(a))),
      child_spec(child<pupil>("b", std::ref(b)).stops_within(1ms).spawned({.where = own_thread})));
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
                                                       .starts_within(1ms)
                                                       .stops_within(1ms)
                                                       .spawned({.where = own_thread})));
  EXPECT_EQ(head.join(), exit_reason::failed);
  EXPECT_THAT(told.failures().back().what,
              HasSubstr("its child \"a\" has not started within 1 ms"));
  let_go.set();
}

// ── One above the other ───────────────────────────────────────────────────────────────────────

TEST(supervisor, a_supervisor_that_fails_is_restarted_by_its_own) {
  script a("a");
  school on;
  supervision inner = at_once;
  inner.most = 0;
  auto group = child<supervisor>("group", inner, child_spec(on.pupil_of(a)))
                   .spawned({.where = bound_to(on.pump)});
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

TEST(supervisor, a_restart_that_becomes_due_while_it_looks_is_not_forgotten) {
  script a("a");
  school on;
  on.open({.most = supervision::unlimited, .first = 2us, .longest = 2us, .jitter = 1},
          on.pupil_of(a).starts_within(10h));
  const ref<pupil> child = on.find("a");
  for (int object = 2; object <= 500; ++object) {
    child.send(fail{"why not"});
    ASSERT_TRUE(on.play_until([&] { return a.objects == object; }));
  }
}

TEST(supervisor, restarts_leave_no_timers_behind) {
  script a("a");
  school on;
  on.open({.most = supervision::unlimited, .first = 1us, .longest = 1us}, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  for (int object = 2; object <= 50; ++object) {
    child.send(fail{"why not"});
    ASSERT_TRUE(on.play_until([&] { return a.objects == object; }));
  }
  on.play();
  EXPECT_LE(on.system.statistics().timers_armed, 1u);
}

TEST(supervisor, a_child_that_does_not_stop_for_a_restart_is_left_behind_and_named) {
  event let_go;
  script a("a"), b("b");
  recorder told;
  troupe::system system(told.options());
  supervision rules = at_once;
  rules.restarts = strategy::one_for_all;
  const auto head = system.spawn<supervisor>(
      rules, child_spec(child<pupil>("a", std::ref(a))),
      child_spec(child<pupil>("b", std::ref(b)).stops_within(1ms).spawned({.where = own_thread})));
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

TEST(supervisor, what_children_of_the_object_before_have_told_is_nothing_to_the_next_one) {
  script a("a");
  school on;
  auto group = child<supervisor>("group", at_once, child_spec(on.pupil_of(a)))
                   .spawned({.where = bound_to(on.pump)});
  on.open(at_once, group);
  auto answer = on.head.ask<find_child<supervisor>>(patience, "group");
  on.play();
  const auto below = std::move(answer).get().value();
  auto found = below.ask<find_child<pupil>>(patience, "a");
  on.play();
  const ref<pupil> before = std::move(found).get().value();
  // Its note is in the mailbox of the one below when that gets its next object.
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

// ── Pace ──────────────────────────────────────────────────────────────────────────────────────

TEST(restart_pace, each_wait_is_twice_as_long_up_to_the_longest) {
  journal log;
  detail::restart_pace pace({.first = 10ms, .longest = 50ms, .jitter = 0});
  detail::child_state child{.spec = troupe::child<probe>("p", std::ref(log))};
  const time_point now = clock::now();
  for (const duration expected : {10ms, 20ms, 40ms, 50ms, 50ms}) {
    EXPECT_EQ(pace.delay(child, now), expected);
  }
}

TEST(restart_pace, one_that_has_run_for_long_begins_anew) {
  detail::restart_pace pace({.within = 1s, .first = 10ms, .longest = 500ms, .jitter = 0});
  journal log;
  detail::child_state child{.spec = troupe::child<probe>("p", std::ref(log))};
  const time_point now = clock::now();
  child.began = now;
  (void)pace.delay(child, now);
  EXPECT_EQ(pace.delay(child, now + 1s), 20ms);
  EXPECT_EQ(pace.delay(child, now + 1s + 1ms), 10ms);
}

TEST(restart_pace, jitter_only_shortens) {
  detail::restart_pace pace({.first = 100ms, .longest = 100ms, .jitter = 0.5});
  journal log;
  detail::child_state child{.spec = troupe::child<probe>("p", std::ref(log))};
  bool differ = false;
  for (int i = 0; i < 100; ++i) {
    const duration time = pace.delay(child, clock::now());
    EXPECT_LE(time, 100ms);
    EXPECT_GE(time, 50ms);
    differ = differ || time < 90ms;
  }
  EXPECT_TRUE(differ);
}

TEST(restart_pace, many_in_a_row_cost_no_more_than_the_first) {
  detail::restart_pace pace({.first = 0ms, .longest = 1ms});
  journal log;
  detail::child_state child{.spec = troupe::child<probe>("p", std::ref(log))};
  child.failed_in_a_row = static_cast<unsigned>(-2);
  const time_point then = clock::now();
  EXPECT_EQ(pace.delay(child, then), 0ms);
  EXPECT_EQ(pace.delay(child, then), 0ms);
  EXPECT_LT(clock::now() - then, 500ms);
}

TEST(supervisor, waits_before_it_restarts) {
  script a("a");
  school on;
  on.open({.first = 20ms, .longest = 20ms, .jitter = 0}, on.pupil_of(a));
  const ref<pupil> child = on.find("a");
  const time_point then = clock::now();
  child.send(fail{"why not"});
  ASSERT_TRUE(on.play_until([&] { return a.objects == 2; }));
  EXPECT_GE(clock::now() - then, 20ms);
}

}  // namespace
}  // namespace troupe::test
