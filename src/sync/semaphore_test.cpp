// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <troupe/detail/sync/semaphore.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

const time_point long_ago = clock::now() - 1s;

TEST(semaphore, begins_with_its_permits) {
  semaphore permits(2);
  EXPECT_TRUE(permits.try_wait());
  EXPECT_EQ(permits.wait(), wait_result::taken);
  EXPECT_FALSE(permits.try_wait());
  EXPECT_EQ(permits.wait_until(long_ago), wait_result::timed_out);
}

TEST(semaphore, try_wait_takes_all_permits_or_none) {
  semaphore permits(2);
  EXPECT_FALSE(permits.try_wait(3));
  EXPECT_TRUE(permits.try_wait(2));
  EXPECT_TRUE(permits.try_wait(0));
  EXPECT_FALSE(permits.try_wait(1));
}

TEST(semaphore, never_gives_up_early) {
  semaphore permits;
  const time_point deadline = clock::now() + 3ms;
  EXPECT_EQ(permits.wait_until(deadline), wait_result::timed_out);
  EXPECT_GE(clock::now(), deadline);
}

TEST(semaphore, a_timed_out_wait_for_several_returns_its_permits) {
  semaphore permits(2);
  EXPECT_EQ(permits.wait_until(3, long_ago), wait_result::timed_out);
  EXPECT_TRUE(permits.try_wait(2));
}

TEST(semaphore, a_deadline_that_passed_does_not_hide_a_permit) {
  semaphore permits(3);
  EXPECT_EQ(permits.wait_until(long_ago), wait_result::taken);
  EXPECT_EQ(permits.wait_until(2, long_ago), wait_result::taken);
}

TEST(semaphore, after_close_yields_the_remaining_permits_then_reports_closed) {
  semaphore permits(1);
  permits.close();
  permits.close();
  EXPECT_TRUE(permits.is_closed());
  EXPECT_EQ(permits.wait(), wait_result::taken);
  EXPECT_EQ(permits.wait(), wait_result::closed);
  EXPECT_EQ(permits.wait_until(long_ago), wait_result::closed);
  EXPECT_EQ(permits.wait(2), wait_result::closed);
}

TEST(semaphore, post_after_close_reports_closed_and_keeps_the_permits) {
  semaphore permits;
  permits.close();
  EXPECT_FALSE(permits.post());
  EXPECT_FALSE(permits.post(2));
  EXPECT_TRUE(permits.try_wait(3));
  EXPECT_EQ(permits.wait(), wait_result::closed);
}

TEST(semaphore, refuses_more_than_it_can_count) {
  semaphore permits(semaphore::most());
  EXPECT_THROW(permits.post(), std::logic_error);
  EXPECT_THROW(permits.post(1), std::logic_error);
  EXPECT_TRUE(permits.try_wait(semaphore::most()));
  EXPECT_TRUE(permits.post(semaphore::most()));
  EXPECT_THROW((void)permits.wait(semaphore::most() + 1), std::logic_error);
  EXPECT_THROW(semaphore{semaphore::most() + 1}, std::logic_error);
}

TEST(semaphore, may_end_as_soon_as_its_waiter_is_awake) {
  for (int i = 0; i < 2'000; ++i) {
    auto done = std::make_unique<semaphore>();
    thread other([at = done.get()] { at->post(); });
    EXPECT_EQ(done->wait(), wait_result::taken);
    done.reset();
    other.join();
  }
}

TEST(semaphore, one_to_one) {
  constexpr int rounds = 20'000;
  semaphore ping;
  semaphore pong;
  int ball = 0;  // not atomic: each post passes it on
  thread other([&] {
    while (ping.wait() == wait_result::taken) {
      ++ball;
      pong.post();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ++ball;
    ping.post();
    ASSERT_EQ(pong.wait(), wait_result::taken);
  }
  ping.close();
  other.join();
  EXPECT_EQ(ball, 2 * rounds);
}

TEST(semaphore, wakes_as_many_as_are_posted_at_once) {
  constexpr std::uint32_t waiters = 8;
  semaphore permits;
  std::vector<thread> all;
  for (std::uint32_t i = 0; i < waiters; ++i) {
    all.emplace_back([&] { EXPECT_EQ(permits.wait(), wait_result::taken); });
  }
  permits.post(waiters);
  for (thread& one : all) one.join();
  EXPECT_FALSE(permits.try_wait());
}

TEST(semaphore, close_wakes_all) {
  semaphore permits;
  std::vector<thread> all;
  for (int i = 0; i < 8; ++i) {
    all.emplace_back(
        [&, i] { EXPECT_EQ(i % 2 == 0 ? permits.wait() : permits.wait(2), wait_result::closed); });
  }
  permits.close();
  for (thread& one : all) one.join();
}

TEST(semaphore, a_waiter_for_several_permits_does_not_starve) {
  semaphore permits;
  semaphore ended;
  thread greedy([&] {
    EXPECT_EQ(permits.wait(50), wait_result::taken);
    ended.post();
  });
  std::vector<thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (permits.wait() == wait_result::taken) {
      }
    });
  }
  while (!ended.try_wait()) {  // hangs if it starves
    permits.post();
    std::this_thread::yield();
  }
  greedy.join();
  permits.close();
  for (thread& one : others) one.join();
}

// All operations at the same time: each permit is taken exactly once.
TEST(semaphore, stampede) {
  constexpr std::uint64_t posters = 2;
  constexpr std::uint64_t each = 20'000;
  semaphore permits;
  atomic<std::uint64_t> taken{0};
  std::vector<thread> takers;
  for (int t = 0; t < 6; ++t) {
    takers.emplace_back([&, t] {
      std::uint64_t mine = 0;
      for (unsigned i = 0;; ++i) {
        const std::uint32_t count = t == 0 ? 3 : 1;
        const time_point soon = clock::now() + std::chrono::microseconds{i % 40};
        const wait_result result = t == 0   ? permits.wait_until(count, soon)
                                   : t == 1 ? permits.wait_until(soon)
                                            : permits.wait();
        if (result == wait_result::closed) break;
        if (result == wait_result::taken) mine += count;
      }
      taken.fetch_add(mine, relaxed);  // [taken] relaxed: join() orders it
    });
  }
  {
    std::vector<jthread> posting;
    for (std::uint64_t p = 0; p < posters; ++p) {
      posting.emplace_back([&] {
        for (std::uint64_t i = 0; i < each; ++i) {
          EXPECT_TRUE(permits.post());
          if (i % 256 == 0) std::this_thread::yield();
        }
      });
    }
  }
  permits.close();
  for (thread& one : takers) one.join();
  while (permits.try_wait()) taken.fetch_add(1, relaxed);  // [taken] relaxed: as above
  EXPECT_EQ(taken.load(relaxed), posters * each);          // [taken] relaxed: as above
}

}  // namespace
}  // namespace troupe
