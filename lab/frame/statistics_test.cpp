// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/statistics.hpp"

#include <gtest/gtest.h>

#include "lab/frame/sizes.hpp"

namespace {

using troupe::lab::is_noisy;
using troupe::lab::quick_value;
using troupe::lab::size_option;

TEST(noise, a_spread_of_more_than_30_percent_of_the_median_is_noisy) {
  EXPECT_FALSE(is_noisy({90, 100, 120}));
  EXPECT_TRUE(is_noisy({90, 100, 121}));
  EXPECT_TRUE(is_noisy({121, 90, 100}));
}

TEST(noise, fewer_than_three_runs_are_never_noisy) {
  EXPECT_FALSE(is_noisy({1}));
  EXPECT_FALSE(is_noisy({1, 100}));
}

TEST(noise, zeros_are_not_noisy_but_zeros_with_one_other_value_are) {
  EXPECT_FALSE(is_noisy({0, 0, 0}));
  EXPECT_TRUE(is_noisy({0, 0, 1}));
}

TEST(quick_value, is_between_the_smoke_and_the_published_value) {
  EXPECT_EQ(quick_value({"messages", "", 1'000'000, 10'000}), 100'000u);
  EXPECT_EQ(quick_value({"workers", "", 2, 2, 1, 1'024}), 2u);
  EXPECT_EQ(quick_value({"seconds", "", 2, 0, 0, 3'600}), 0u);
  EXPECT_EQ(quick_value({"actors", "", 1'000, 1, 500}), 500u);
}

TEST(quick_value, is_the_value_that_the_experiment_specifies) {
  EXPECT_EQ(quick_value({"messages", "", 1'000'000, 10'000, 1, 2'000'000, 77}), 77u);
}

}  // namespace
