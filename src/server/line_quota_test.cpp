// SPDX-License-Identifier: Apache-2.0
#include "server/line_quota.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace troupe::server::detail {
namespace {

using namespace std::chrono_literals;

TEST(line_quota, lets_so_many_through_in_its_time_and_counts_the_others) {
  line_quota two(2, 1s);
  const time_point start = clock::now();
  EXPECT_EQ(two.take(start), 0u);
  EXPECT_EQ(two.take(start + 500ms), 0u);
  EXPECT_FALSE(two.take(start + 600ms));
  EXPECT_FALSE(two.take(start + 999ms));
  EXPECT_EQ(two.take(start + 1s), 2u);
  EXPECT_EQ(two.take(start + 1s), 0u) << "they are told of once";
  EXPECT_FALSE(two.take(start + 1s));
  EXPECT_EQ(two.take(start + 10s), 1u);
}

}  // namespace
}  // namespace troupe::server::detail
