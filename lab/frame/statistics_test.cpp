// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/statistics.hpp"

#include <gtest/gtest.h>

#include "lab/frame/sizes.hpp"

namespace {

using troupe::lab::is_noisy;
using troupe::lab::quick_value;
using troupe::lab::size_option;

TEST(noisy, what_varies_by_more_than_30_percent_of_the_median) {
  EXPECT_FALSE(is_noisy({90, 100, 120}));
  EXPECT_TRUE(is_noisy({90, 100, 121}));
  EXPECT_TRUE(is_noisy({121, 90, 100}));
}

TEST(noisy, of_two_runs_nothing_is_said) {
  EXPECT_FALSE(is_noisy({1}));
  EXPECT_FALSE(is_noisy({1, 100}));
}

TEST(noisy, zeros_do_not_vary_but_one_that_is_none_does) {
  EXPECT_FALSE(is_noisy({0, 0, 0}));
  EXPECT_TRUE(is_noisy({0, 0, 1}));
}

TEST(quick, is_between_smoke_and_what_was_published) {
  EXPECT_EQ(quick_value({"messages", "", 1'000'000, 10'000}), 100'000u);
  EXPECT_EQ(quick_value({"workers", "", 2, 2, 1, 1'024}), 2u);
  EXPECT_EQ(quick_value({"seconds", "", 2, 0, 0, 3'600}), 0u);
  EXPECT_EQ(quick_value({"actors", "", 1'000, 1, 500}), 500u);
}

TEST(quick, is_what_the_experiment_says_if_it_says_something) {
  EXPECT_EQ(quick_value({"messages", "", 1'000'000, 10'000, 1, 2'000'000, 77}), 77u);
}

}  // namespace
