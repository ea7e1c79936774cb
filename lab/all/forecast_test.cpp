// SPDX-License-Identifier: Apache-2.0
#include "lab/all/forecast.hpp"

#include <gtest/gtest.h>

namespace {

using troupe::lab::forecast;
using troupe::lab::left_text;

TEST(forecast, begins_with_the_stored_estimate_and_ends_at_zero) {
  forecast left(100);
  EXPECT_DOUBLE_EQ(left.left_s(), 100);
  left.ran(60, 60);
  EXPECT_DOUBLE_EQ(left.left_s(), 40);
  left.ran(40, 44);
  EXPECT_DOUBLE_EQ(left.left_s(), 0);
}

TEST(forecast, a_machine_that_is_twice_as_slow_takes_twice_as_long_for_the_rest) {
  forecast left(2'000);
  left.ran(1'000, 2'000);
  EXPECT_NEAR(left.left_s(), 2'000, 10);
}

TEST(forecast, one_short_run_does_not_change_it_much) {
  forecast left(100);
  left.ran(0.01, 0.1);
  EXPECT_NEAR(left.left_s(), 100, 2);
}

TEST(forecast, is_rounded_to_its_precision) {
  EXPECT_EQ(left_text(3), "some seconds left");
  EXPECT_EQ(left_text(34), "about 30 s left");
  EXPECT_EQ(left_text(94), "about 90 s left");
  EXPECT_EQ(left_text(95), "about 2 min left");
  EXPECT_EQ(left_text(3'700), "about 62 min left");
}

TEST(forecast, an_unknown_experiment_has_a_default_cost) {
  EXPECT_GT(troupe::lab::kept_cost_of("none of these").quick_s, 0);
  EXPECT_GT(troupe::lab::kept_cost_of("none of these").full_s, 0);
}

}  // namespace
