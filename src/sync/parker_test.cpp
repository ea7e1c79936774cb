// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

const time_point long_ago = clock::now() - 1s;

TEST(parker, a_notify_before_park_is_not_lost) {
  parker p;
  EXPECT_FALSE(p.notify());
  p.park();
}

TEST(parker, several_notifies_before_a_park_count_once) {
  parker p;
  p.notify();
  p.notify();
  p.park();
  EXPECT_FALSE(p.park_until(long_ago));
}

TEST(parker, a_deadline_that_passed_does_not_hide_a_notify) {
  parker p;
  p.notify();
  EXPECT_TRUE(p.park_until(long_ago));
  EXPECT_FALSE(p.park_until(long_ago));
  p.notify();
  p.park();
}

TEST(parker, never_gives_up_early) {
  parker p;
  const time_point deadline = clock::now() + 3ms;
  EXPECT_FALSE(p.park_until(deadline));
  EXPECT_GE(clock::now(), deadline);
}

TEST(parker, notify_reports_whether_the_owner_was_asleep) {
  parker p;
  atomic<bool> done{false};
  thread owner([&] {
    // [done] relaxed: the parker orders it.
    while (!done.load(relaxed)) p.park();
  });
  while (!p.notify()) std::this_thread::yield();
  // [done] relaxed: the parker orders it.
  done.store(true, relaxed);
  p.notify();
  owner.join();
}

TEST(parker, may_look_before_it_sleeps) {
  parker p;
  adaptive_spin spin;
  EXPECT_FALSE(p.park_until(long_ago, spin));
  p.notify();
  p.park(spin);
  p.notify();
  EXPECT_TRUE(p.park_until(long_ago, spin));
  thread other([&] { p.notify(); });
  p.park(spin);
  other.join();
}

TEST(parker, one_to_one) {
  constexpr int rounds = 20'000;
  parker ping;
  parker pong;
  int ball = 0;  // not atomic: each notify() passes it on
  thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      ping.park();
      ++ball;
      pong.notify();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ++ball;
    ping.notify();
    pong.park();
  }
  other.join();
  EXPECT_EQ(ball, 2 * rounds);
}

TEST(parker, many_to_one) {
  constexpr int senders = 4;
  constexpr int each = 10'000;
  parker p;
  atomic<int> sent{0};
  std::vector<thread> threads;
  for (int i = 0; i < senders; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < each; ++n) {
        // [sent] relaxed: the parker orders it.
        sent.fetch_add(1, relaxed);
        p.notify();
      }
    });
  }
  // Ends only if the last increment's notification arrives. [sent] relaxed: as above.
  while (sent.load(relaxed) < senders * each) p.park();
  for (thread& one : threads) one.join();
}

TEST(parker, a_notify_at_the_deadline_is_not_lost) {
  constexpr int rounds = 2'000;
  parker owner;
  parker sender;
  thread sending([&] {
    for (int i = 0; i < rounds; ++i) {
      owner.notify();
      sender.park();  // hangs if the owner missed the notification
    }
  });
  for (int i = 0; i < rounds; ++i) {
    while (!owner.park_until(clock::now() + std::chrono::microseconds{i % 60})) {
    }
    sender.notify();
  }
  sending.join();
}

}  // namespace
}  // namespace troupe
