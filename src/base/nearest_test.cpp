// SPDX-License-Identifier: Apache-2.0
#include "nearest.hpp"

#include <gtest/gtest.h>

namespace {

using troupe::detail::did_you_mean;
using troupe::detail::distance;
using troupe::detail::nearest;

TEST(nearest, distance_counts_insertions_deletions_replacements_and_swaps) {
  EXPECT_EQ(distance("", ""), 0u);
  EXPECT_EQ(distance("ring", "ring"), 0u);
  EXPECT_EQ(distance("", "ring"), 4u);
  EXPECT_EQ(distance("ring", ""), 4u);
  EXPECT_EQ(distance("ring", "rings"), 1u);
  EXPECT_EQ(distance("rng", "ring"), 1u);
  EXPECT_EQ(distance("rong", "ring"), 1u);
  EXPECT_EQ(distance("rign", "ring"), 1u);
  EXPECT_EQ(distance("kitten", "sitting"), 3u);
  EXPECT_EQ(distance("sitting", "kitten"), 3u);
}

TEST(nearest, a_slip_is_found_and_something_else_is_not) {
  const std::vector<std::string> names{"pingpong", "pairs", "ring", "queue", "queue_sizes", "ask"};
  EXPECT_EQ(nearest("pingpon", names), "pingpong");
  EXPECT_EQ(nearest("pinpgong", names), "pingpong");
  EXPECT_EQ(nearest("queue_size", names), "queue_sizes");
  EXPECT_EQ(nearest("queues", names), "queue");
  EXPECT_EQ(nearest("aks", names), "ask");
  EXPECT_EQ(nearest("asc", names), "ask");
  EXPECT_EQ(nearest("nothing", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
}

TEST(nearest, did_you_mean_suggests_only_a_near_name) {
  EXPECT_EQ(did_you_mean("--mesages", {"--messages"}), "; did you mean --messages?");
  EXPECT_EQ(did_you_mean("--nothing", {"--messages"}), "");
}

}  // namespace
