// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <troupe/detail/memory/surplus.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

namespace troupe {
namespace {

struct ear final : surplus_listener {
  void on_surplus() noexcept override { ++heard; }
  int heard = 0;
};

TEST(surplus_signal, empty) {
  surplus_signal signal;
  ear one;
  signal.add(one);
  EXPECT_EQ(one.heard, 0);
  signal.remove(one, false);
}

TEST(surplus_signal, notifies_one_listener_once_until_it_is_lowered) {
  surplus_signal signal;
  ear one;
  ear other;
  signal.add(one);
  signal.add(other);
  signal.raise();
  signal.raise();
  EXPECT_EQ(one.heard, 1);
  signal.lower();
  signal.raise();
  EXPECT_EQ(one.heard, 2);
  EXPECT_EQ(other.heard, 0);
  signal.remove(other, false);
  signal.remove(one, false);
}

TEST(surplus_signal, a_pending_notification_goes_to_the_next_listener) {
  surplus_signal signal;
  signal.raise();
  ear one;
  signal.add(one);
  EXPECT_EQ(one.heard, 1);
  signal.remove(one, false);
}

TEST(surplus_signal, a_removed_listener_passes_its_notification_to_another) {
  surplus_signal signal;
  std::array<ear, 3> ears;
  for (ear& each : ears) signal.add(each);
  signal.raise();
  signal.lower();
  signal.remove(ears[1], true);  // it was never notified, but reports a surplus as owed
  signal.remove(ears[0], false);
  EXPECT_EQ(ears[2].heard, 1);
  signal.remove(ears[2], true);
  ear next;
  signal.add(next);
  EXPECT_EQ(next.heard, 1);
  signal.remove(next, false);
}

TEST(surplus_signal, stampede) {
  surplus_signal signal;
  std::vector<thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        ear mine;
        signal.add(mine);
        signal.raise();
        signal.lower();
        signal.remove(mine, i % 2 == 0);
      }
    });
  }
  for (thread& each : threads) each.join();
  ear last;
  signal.lower();
  signal.add(last);
  signal.raise();
  EXPECT_EQ(last.heard, 1);
  signal.remove(last, false);
}

}  // namespace
}  // namespace troupe
