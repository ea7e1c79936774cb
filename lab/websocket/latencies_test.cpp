// SPDX-License-Identifier: Apache-2.0
#include "lab/websocket/latencies.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace troupe::lab {
namespace {

TEST(latencies, the_quantile_of_no_values_is_zero) { EXPECT_EQ(latencies().quantile(0.5), 0); }

TEST(latencies, small_values_are_exact) {
  latencies all;
  for (std::uint64_t ns = 1; ns <= 20; ++ns) all.add(ns);
  EXPECT_EQ(all.count(), 20u);
  EXPECT_EQ(all.quantile(0.5), 10);
  EXPECT_EQ(all.quantile(0.95), 19);
  EXPECT_EQ(all.quantile(1), 20);
}

TEST(latencies, a_quantile_has_an_error_of_at_most_one_in_32) {
  for (std::uint64_t ns = 1; ns < std::uint64_t{1} << 40; ns = ns * 3 / 2 + 1) {
    latencies all;
    all.add(ns);
    EXPECT_NEAR(all.quantile(0.5), static_cast<double>(ns), static_cast<double>(ns) / 32);
  }
}

TEST(latencies, the_few_that_are_late_are_seen_where_they_belong) {
  latencies all;
  for (int i = 0; i < 998; ++i) all.add(1'000);
  all.add(1'000'000);
  all.add(std::numeric_limits<std::uint64_t>::max());
  EXPECT_NEAR(all.quantile(0.99), 1'000, 32);
  EXPECT_NEAR(all.quantile(0.999), 1'000'000, 32'000);
  EXPECT_GT(all.quantile(1), 1e18);
  all.clear();
  EXPECT_EQ(all.count(), 0u);
}

}  // namespace
}  // namespace troupe::lab
