// SPDX-License-Identifier: Apache-2.0
// How long a supervisor waits before it restarts a child.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <troupe/supervision/child_record.hpp>
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

TEST(restart_pace, one_that_has_run_for_long_begins_anew) {
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

}  // namespace
}  // namespace troupe::test
