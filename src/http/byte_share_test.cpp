// SPDX-License-Identifier: Apache-2.0
// Shares of a limit in bytes: returned bytes can be taken again, to the last byte.
#include "byte_share.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>

#include "body_budget.hpp"

namespace troupe::http::detail {
namespace {

TEST(byte_share, releases_bytes_when_it_shrinks_or_is_destroyed) {
  const auto gauge = std::make_shared<byte_gauge>(100);
  for (int i = 0; i < 3; ++i) {
    byte_share one(gauge);
    byte_share other(gauge);
    EXPECT_TRUE(one.resize(100)) << "all of it";
    EXPECT_FALSE(other.resize(1));
    EXPECT_TRUE(one.resize(40));
    EXPECT_EQ(gauge->used(), 40u);
    EXPECT_TRUE(other.resize(60));
    EXPECT_FALSE(one.resize(41));
    EXPECT_EQ(gauge->used(), 100u) << "what was refused changes nothing";
  }
  EXPECT_EQ(gauge->used(), 0u);
}

TEST(body_budget, can_be_filled_exactly_and_again) {
  body_budget all(100);
  for (int i = 0; i < 3; ++i) {
    body_share one(all);
    body_share other(all);
    EXPECT_TRUE(one.grow(40));
    EXPECT_TRUE(other.grow(60));
    EXPECT_FALSE(one.grow(1));
    EXPECT_EQ(all.taken(), 100u);
    other.clear();
    EXPECT_TRUE(one.grow(60));
  }
  EXPECT_EQ(all.taken(), 0u);
}

}  // namespace
}  // namespace troupe::http::detail
