// SPDX-License-Identifier: Apache-2.0

#include "block_sizes.hpp"

#include <gtest/gtest.h>

namespace troupe::lua::detail {
namespace {

TEST(block_sizes, know_the_largest_up_to_a_power_of_two) {
  block_sizes all;
  EXPECT_EQ(all.largest(), 0U);
  all.add(1000);
  EXPECT_EQ(all.largest(), 1024U);
  all.add(1024);
  EXPECT_EQ(all.largest(), 2048U);
  all.add(1'500);
  all.remove(1024);
  EXPECT_EQ(all.largest(), 2048U);
  all.remove(2000);  // in the same class as 1,500
  EXPECT_EQ(all.largest(), 1024U);
  all.remove(1000);
  EXPECT_EQ(all.largest(), 0U);
}

}  // namespace
}  // namespace troupe::lua::detail
