// SPDX-License-Identifier: Apache-2.0

#include "window.hpp"

#include <gtest/gtest.h>

#include <vector>

#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>

namespace troupe::http::detail {
namespace {

TEST(window, counts_outstanding_places) {
  window w;
  EXPECT_EQ(w.take(), 1u);
  EXPECT_EQ(w.take(), 2u);
  EXPECT_FALSE(w.give_back());
  EXPECT_EQ(w.out(), 1u);
}

TEST(window, a_satisfied_wait_causes_no_notification) {
  window w;
  w.take();
  EXPECT_TRUE(w.wait_for(1));
  EXPECT_FALSE(w.give_back());
}

TEST(window, exactly_one_release_notifies_the_waiter) {
  window w;
  for (int i = 0; i < 4; ++i) w.take();
  EXPECT_FALSE(w.wait_for(2));
  EXPECT_FALSE(w.give_back());
  EXPECT_TRUE(w.give_back());
  EXPECT_FALSE(w.give_back());
  EXPECT_FALSE(w.give_back());
}

TEST(window, a_later_wait_replaces_the_earlier) {
  window w;
  for (int i = 0; i < 3; ++i) w.take();
  EXPECT_FALSE(w.wait_for(2));
  EXPECT_FALSE(w.wait_for(0));
  EXPECT_FALSE(w.give_back());
  EXPECT_FALSE(w.give_back());
  EXPECT_TRUE(w.give_back());
}

TEST(window, one_to_one_never_loses_the_wake_up) {
  constexpr std::uint32_t most = 4;
  constexpr int rounds = 100'000;
  window w;
  parker reader;
  atomic<int> given{0};
  atomic<int> taken{0};
  std::uint32_t highest = 0;
  {
    const jthread session([&] {
      while (given.load(relaxed) < rounds) {
        if (given.load(relaxed) == taken.load(acquire)) continue;
        given.fetch_add(1, relaxed);
        if (w.give_back()) reader.notify();
      }
    });
    for (int i = 0; i < rounds; ++i) {
      const std::uint32_t out = w.take();
      if (out > highest) highest = out;
      taken.fetch_add(1, release);
      // If a wake-up is lost, the test hangs here until its time limit.
      if (out >= most && !w.wait_for(most / 2)) reader.park();
    }
  }
  EXPECT_LE(highest, most);
  EXPECT_EQ(w.out(), 0u);
}

}  // namespace
}  // namespace troupe::http::detail
