// SPDX-License-Identifier: Apache-2.0

#include "channel_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace troupe::lua::detail {

inline bool operator==(const channel_order::arrival& a, const channel_order::arrival& b) {
  return a.what == b.what && a.call == b.call;
}

namespace {

using verdict = channel_order::verdict;
using arrival = channel_order::arrival;

TEST(channel_order, channel_0_is_unordered) {
  channel_order order;
  EXPECT_EQ(order.arrive(0, 10), (arrival{verdict::begins, 1}));
  EXPECT_EQ(order.arrive(0, 11), (arrival{verdict::begins, 2}));
  EXPECT_EQ(order.arrive(0, std::nullopt), (arrival{verdict::begins, 3}));
  EXPECT_EQ(order.finish(2), std::nullopt);
  EXPECT_EQ(order.finish(3), std::nullopt);
  EXPECT_EQ(order.finish(1), std::nullopt);
  EXPECT_EQ(order.open(), 0U);
}

TEST(channel_order, calls_on_one_channel_run_one_at_a_time) {
  channel_order order;
  EXPECT_EQ(order.arrive(1, 10), (arrival{verdict::begins, 1}));
  EXPECT_EQ(order.arrive(1, std::nullopt), (arrival{verdict::waits, 2}));
  EXPECT_EQ(order.arrive(1, 12), (arrival{verdict::waits, 3}));
  EXPECT_EQ(order.finish(1), 2U);
  EXPECT_EQ(order.finish(2), 3U);
  EXPECT_EQ(order.finish(3), std::nullopt);
  EXPECT_EQ(order.arrive(1, 10), (arrival{verdict::begins, 4}));
}

TEST(channel_order, channels_do_not_wait_for_each_other) {
  channel_order order;
  EXPECT_EQ(order.arrive(1, 10).what, verdict::begins);
  EXPECT_EQ(order.arrive(2, 11).what, verdict::begins);
  EXPECT_EQ(order.arrive(255, 12).what, verdict::begins);
  EXPECT_EQ(order.arrive(0, 13).what, verdict::begins);
  EXPECT_EQ(order.arrive(1, 14), (arrival{verdict::waits, 5}));
  EXPECT_EQ(order.finish(2), std::nullopt);
  EXPECT_EQ(order.finish(1), 5U);
}

TEST(channel_order, a_waiting_call_may_be_dropped) {
  channel_order order;
  order.arrive(1, 10);
  order.arrive(1, 11);
  order.arrive(1, 12);
  EXPECT_EQ(order.finish(2), std::nullopt);
  EXPECT_EQ(order.finish(1), 3U);
}

TEST(channel_order, an_id_in_use_is_refused_on_every_channel) {
  channel_order order;
  order.arrive(1, 10);
  order.arrive(1, 11);
  EXPECT_EQ(order.arrive(1, 10), (arrival{verdict::duplicate, 0}));
  EXPECT_EQ(order.arrive(0, 11), (arrival{verdict::duplicate, 0}));
  order.finish(1);
  EXPECT_EQ(order.arrive(0, 10).what, verdict::begins);
  EXPECT_EQ(order.open(), 2U);
}

TEST(channel_order, more_than_may_be_open_is_refused) {
  channel_order order(3);
  order.arrive(0, 10);
  order.arrive(1, std::nullopt);
  order.arrive(1, 12);
  EXPECT_EQ(order.arrive(0, 13), (arrival{verdict::overloaded, 0}));
  EXPECT_EQ(order.arrive(2, std::nullopt), (arrival{verdict::overloaded, 0}));
  EXPECT_EQ(order.arrive(0, 12), (arrival{verdict::duplicate, 0}));
  order.finish(1);
  EXPECT_EQ(order.arrive(0, 13), (arrival{verdict::begins, 4}));
}

TEST(channel_order, keeps_the_order_of_every_channel_whatever_happens) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  channel_order order(20);
  std::vector<channel_order::ticket> running;
  std::map<channel_order::ticket, int> channel_of;
  std::map<int, channel_order::ticket> begun_last;
  const auto begin = [&](channel_order::ticket call) {
    running.push_back(call);
    const int channel = channel_of.at(call);
    if (channel != 0) {
      EXPECT_GT(call, begun_last[channel]);
    }
    begun_last[channel] = call;
  };
  for (int i = 0; i < 10'000; ++i) {
    if (random() % 2 == 0) {
      const auto channel = static_cast<std::uint8_t>(random() % 4);
      const auto got = order.arrive(channel, std::nullopt);
      if (got.call != 0) channel_of[got.call] = channel;
      if (got.what == verdict::begins) begin(got.call);
    } else if (!running.empty()) {
      const auto which = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
      const auto call = *which;
      running.erase(which);
      const auto next = order.finish(call);
      if (next) begin(*next);
      for (const auto other : running) {
        EXPECT_TRUE(channel_of[other] != channel_of[call] || channel_of[call] == 0 ||
                    other == next);
      }
    }
    EXPECT_LE(order.open(), 20U);
    EXPECT_EQ(running.empty(), order.open() == 0);
  }
}

}  // namespace
}  // namespace troupe::lua::detail
