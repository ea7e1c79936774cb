// SPDX-License-Identifier: Apache-2.0
// The delay before a supervisor restarts a child.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <troupe/detail/supervision/child_record.hpp>
#include <troupe/troupe.hpp>

#include "supervision_test_support.hpp"

namespace troupe::test {
namespace {

TEST(restart_pace, each_wait_is_twice_as_long_up_to_the_longest) {
  journal log;
  detail::restart_pace pace({.min_backoff = 10ms, .max_backoff = 50ms, .jitter = 0});
  detail::child_state child{.spec = troupe::child<probe>("p", std::ref(log))};
  const time_point now = clock::now();
  for (const duration expected : {10ms, 20ms, 40ms, 50ms, 50ms}) {
    EXPECT_EQ(pace.delay(child, now), expected);
  }
}

TEST(restart_pace, resets_the_backoff_after_a_long_run) {
  detail::restart_pace pace({.within = 1s, .min_backoff = 10ms, .max_backoff = 500ms, .jitter = 0});
  journal log;
  detail::child_state child{.spec = troupe::child<probe>("p", std::ref(log))};
  const time_point now = clock::now();
  child.began = now;
  (void)pace.delay(child, now);
  EXPECT_EQ(pace.delay(child, now + 1s), 20ms);
  EXPECT_EQ(pace.delay(child, now + 1s + 1ms), 10ms);
}

TEST(restart_pace, jitter_only_shortens) {
  detail::restart_pace pace({.min_backoff = 100ms, .max_backoff = 100ms, .jitter = 0.5});
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
  detail::restart_pace pace({.min_backoff = 0ms, .max_backoff = 1ms});
  journal log;
  detail::child_state child{.spec = troupe::child<probe>("p", std::ref(log))};
  child.failed_in_a_row = static_cast<unsigned>(-2);
  const time_point then = clock::now();
  EXPECT_EQ(pace.delay(child, then), 0ms);
  EXPECT_EQ(pace.delay(child, then), 0ms);
  EXPECT_LT(clock::now() - then, 500ms);
}

TEST(restart_pace, a_restart_counts_until_more_than_the_time_has_passed) {
  const time_point now = clock::now();
  detail::restart_pace at_the_end({.max_restarts = 1, .within = 1s});
  EXPECT_TRUE(at_the_end.may_restart(now));
  EXPECT_FALSE(at_the_end.may_restart(now + 1s));
  EXPECT_TRUE(at_the_end.may_restart(now + 1s + duration(1)));
}

TEST(restart_pace, the_time_is_that_before_each_restart) {
  detail::restart_pace pace({.max_restarts = 3, .within = 10s});
  const time_point now = clock::now();
  for (const duration at : {0s, 4s, 8s}) EXPECT_TRUE(pace.may_restart(now + at));
  EXPECT_FALSE(pace.may_restart(now + 9s));
  EXPECT_TRUE(pace.may_restart(now + 11s)) << "the first one is over, and no other";
  EXPECT_FALSE(pace.may_restart(now + 13s));
  EXPECT_TRUE(pace.may_restart(now + 15s))
      << "the second one is over; what was refused is not counted";
}

TEST(restart_pace, with_no_restarts_the_first_one_is_too_many) {
  detail::restart_pace none({.max_restarts = 0});
  EXPECT_FALSE(none.may_restart(clock::now()));
}

TEST(restart_pace, waits_grow_with_jitter_and_stay_below_the_longest) {
  journal log;
  for (int i = 0; i < 100; ++i) {
    detail::restart_pace pace({.min_backoff = 10ms, .max_backoff = 50ms, .jitter = 0.2});
    detail::child_state child{.spec = troupe::child<probe>("p", std::ref(log))};
    const time_point now = clock::now();
    for (const duration longest : {10ms, 20ms, 40ms, 50ms, 50ms}) {
      const duration time = pace.delay(child, now);
      EXPECT_LE(time, longest);
      EXPECT_GE(time, longest * 4 / 5);
    }
  }
}

}  // namespace
}  // namespace troupe::test
