// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <troupe/detail/sync/event_count.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

TEST(event_count, a_notification_between_ticket_and_wait_is_not_lost) {
  event_count events;
  const auto ticket = events.prepare_wait();
  events.notify_one();
  events.wait(ticket);
}

TEST(event_count, a_notification_before_the_ticket_does_not_count) {
  event_count events;
  events.notify_all();
  EXPECT_FALSE(events.wait_until(events.prepare_wait(), clock::now() - 1s));
}

TEST(event_count, never_gives_up_early) {
  event_count events;
  const time_point deadline = clock::now() + 3ms;
  EXPECT_FALSE(events.wait_until(events.prepare_wait(), deadline));
  EXPECT_GE(clock::now(), deadline);
}

// Hangs if a notification is lost. The work is counted by relaxed operations, which order nothing.
TEST(event_count, stampede) {
  constexpr int posters = 3;
  constexpr int each = 10'000;
  event_count events;
  atomic<int> work{0};
  atomic<bool> closed{false};
  // [work] relaxed: the event count makes each check see what preceded a notification.
  const auto take = [&] {
    int left = work.load(relaxed);
    while (left > 0) {
      if (work.compare_exchange_weak(left, left - 1, relaxed, relaxed)) return true;
    }
    return false;
  };
  std::vector<thread> takers;
  atomic<int> taken{0};
  for (int t = 0; t < 4; ++t) {
    takers.emplace_back([&, t] {
      for (;;) {
        if (take()) {
          taken.fetch_add(1, relaxed);  // [taken] relaxed: join() orders it
          continue;
        }
        const auto ticket = events.prepare_wait();
        // [work] relaxed: as above.
        const bool over = closed.load(relaxed);
        if (over || work.load(relaxed) > 0) {
          events.cancel_wait();
          if (over && work.load(relaxed) == 0) return;  // [work] relaxed: as above
          continue;
        }
        if (t % 2 == 0) {
          events.wait(ticket);
        } else {
          (void)events.wait_until(ticket, clock::now() + 100us);
        }
      }
    });
  }
  {
    std::vector<jthread> posting;
    for (int p = 0; p < posters; ++p) {
      posting.emplace_back([&] {
        for (int i = 0; i < each; ++i) {
          work.fetch_add(1, relaxed);  // [work] relaxed: as above
          events.notify_one();
        }
      });
    }
  }
  closed.store(true, relaxed);  // [work] relaxed: as above
  events.notify_all();
  for (thread& one : takers) one.join();
  EXPECT_EQ(taken.load(relaxed), posters * each);  // [taken] relaxed: as above
}

}  // namespace
}  // namespace troupe
