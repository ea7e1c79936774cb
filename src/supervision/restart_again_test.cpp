// SPDX-License-Identifier: Apache-2.0
// After a restart: the next termination of a child that was restarted with others, and the pending
// timers of a child that is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <troupe/supervision/dynamic_supervisor.hpp>
#include <troupe/supervision/supervisor.hpp>
#include <troupe/troupe.hpp>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

supervision all_at_once() {
  supervision rules = at_once;
  rules.strategy = restart_strategy::one_for_all;
  return rules;
}

TEST(restart, with_others_does_not_change_by_which_rule_a_child_ends_the_next_time) {
  script a("a");
  script b("b");
  school on;
  on.open(all_at_once(), on.pupil_of(a), on.pupil_of(b).restart_policy(troupe::restart::never));
  const auto first = on.find("a");
  const auto second = on.find("b");
  for (int i = 2; i <= 3; ++i) {
    on.tell(first, fail{"why not"});
    EXPECT_EQ(a.objects, i);
    EXPECT_EQ(b.objects, i) << "it goes with the others, and comes back";
  }
  on.tell(second, fail{"its own"});
  EXPECT_EQ(b.objects, 3) << "it is never restarted for its own sake";
  EXPECT_EQ(b.alive, 0);
  EXPECT_EQ(a.alive, 1);
  on.tell(first, fail{"why not"});
  EXPECT_EQ(a.alive, 1);
  EXPECT_EQ(b.objects, 3);
}

TEST(restart, of_a_group_is_as_late_as_that_of_the_one_that_failed) {
  script a("a");
  script b("b");
  supervision rules = all_at_once();
  rules.min_backoff = rules.max_backoff = 10h;
  school on;
  on.open(rules, on.pupil_of(a), on.pupil_of(b));
  on.tell(on.find("b"), fail{"why not"});
  EXPECT_EQ(a.alive, 0);
  EXPECT_EQ(b.alive, 0);
  EXPECT_EQ(a.objects, 1) << "it does not come back before the other one may";
}

TEST(restart, leaves_no_timer_that_holds_a_child_that_has_ended) {
  clinic<pupil> on;
  on.open_spec(child<pupil>("a", std::ref(on.does))
                   .restart_policy(troupe::restart::on_failure)
                   .options({.where = bound_to(on.pump)}));
  const address was = on.it.address();
  const std::uint64_t before = on.system.statistics().timers_armed;  // the supervisor's own
  on.let_it([](pupil& p) {
    for (int i = 0; i < 3; ++i) (void)p.me().send_after(10h, say{"never"});
  });
  on.tell(fail{"why not"});
  EXPECT_EQ(on.system.statistics().timers_armed, before);
  on.it.stop();
  on.it = {};
  on.play();
  const auto next = on.spawn<pupil>(on.other);
  EXPECT_EQ(detail::address_access::line(was), detail::address_access::line(next.address()))
      << "its slot is free";
}

TEST(dynamic_supervisor, ignores_a_due_restart_of_a_child_that_is_gone) {
  script a("a");
  school on;
  supervision rules = at_once;
  rules.min_backoff = rules.max_backoff = 20ms;
  rules.jitter = 0;
  const auto head = on.spawn<dynamic_supervisor<pupil>>(rules);
  const auto start = [&] {
    auto made = head.ask<start_child<pupil>>(patience, on.pupil_of(a));
    on.play();
    return std::move(made).get().value();
  };
  for (int i = 0; i < 2; ++i) {
    const auto one = start();
    on.tell(one, fail{"why not"});
    one.stop_now();  // while it waits to be restarted
    on.play();
    EXPECT_EQ(a.alive, 0);
    const time_point later = clock::now() + 40ms;
    EXPECT_TRUE(on.play_until([&] { return clock::now() > later; }));
  }
  const auto other = start();
  on.tell(other, say{"here"});
  EXPECT_EQ(a.log.lines().back(), "here") << "its supervisor goes on";
  EXPECT_TRUE(on.told.failures().size() == 2) << "those of the children alone";
}

}  // namespace
}  // namespace troupe::test
