// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <mutex>
#include <troupe/detail/sync/adaptive_mutex.hpp>
#include <troupe/detail/sync/event.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

const time_point long_ago = clock::now() - 1s;

TEST(adaptive_mutex, serves_the_standard_guards) {
  adaptive_mutex one;
  adaptive_mutex other;
  { const std::lock_guard guard(one); }
  { const std::scoped_lock guard(one, other); }
  std::unique_lock guard(one, std::try_to_lock);
  EXPECT_TRUE(guard.owns_lock());
}

TEST(adaptive_mutex, is_small) { EXPECT_EQ(sizeof(adaptive_mutex), 12u); }

TEST(adaptive_mutex, is_not_taken_while_another_thread_holds_it) {
  adaptive_mutex one;
  one.lock();
  thread([&] {
    EXPECT_FALSE(one.try_lock());
    EXPECT_FALSE(one.try_lock_until(long_ago));
    const time_point deadline = clock::now() + 3ms;
    EXPECT_FALSE(one.try_lock_until(deadline));
    EXPECT_GE(clock::now(), deadline);
  }).join();
  one.unlock();
  thread([&] {
    EXPECT_TRUE(one.try_lock_until(long_ago));
    one.unlock();
  }).join();
}

TEST(adaptive_mutex, wakes_a_thread_that_waits_until_a_deadline) {
  adaptive_mutex one;
  event waits;
  one.lock();
  thread other([&] {
    waits.set();
    EXPECT_TRUE(one.try_lock_until(time_point::max()));
    one.unlock();
  });
  waits.wait();
  one.unlock();
  other.join();
}

TEST(adaptive_mutex, unlocked_by_another_thread_is_reported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        adaptive_mutex one;
        one.lock();
        thread([&] { one.unlock(); }).join();
      },
      "unlocked by a thread that does not hold it");
  EXPECT_DEATH(adaptive_mutex{}.unlock(), "unlocked by a thread that does not hold it");
}

TEST(adaptive_mutex, locked_again_by_its_holder_is_reported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        adaptive_mutex one;
        one.lock();
        one.lock();
      },
      "locked again by the thread that holds it");
}

// Some threads give up on the mutex from time to time; the guarded data is not atomic.
TEST(adaptive_mutex, stampede) {
  constexpr int threads = 6;
  constexpr int each = 3'000;
  adaptive_mutex one;
  int inside = 0;
  int taken = 0;
  std::vector<thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        if (t % 2 == 0) {
          one.lock();
        } else {
          while (!one.try_lock_until(clock::now() + std::chrono::microseconds{i % 50})) {
          }
        }
        EXPECT_EQ(++inside, 1);
        if (i % 64 == 0) std::this_thread::yield();  // so that other threads have to sleep
        ++taken;
        --inside;
        one.unlock();
      }
    });
  }
  for (thread& each_thread : all) each_thread.join();
  EXPECT_EQ(taken, threads * each);
}

}  // namespace
}  // namespace troupe
