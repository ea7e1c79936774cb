// SPDX-License-Identifier: Apache-2.0
#include "lab/waiting/locks.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <system_error>
#include <thread>
#include <troupe/detail/sync/adaptive_mutex.hpp>

#include "lab/waiting/host_probe.hpp"

namespace troupe::lab {
namespace {

template <class Lock>
class checked_lock : public testing::Test {};
using kinds = testing::Types<cas_lock<by_sched_yield>, cas_lock<by_nanosleep<1'000>>,
                             owner_checked<adaptive_mutex>, pthread_checking_mutex>;
TYPED_TEST_SUITE(checked_lock, kinds);

TYPED_TEST(checked_lock, reports_an_unlock_by_another_thread_and_stays_locked) {
  TypeParam lock;
  lock.lock();
  std::error_code error;
  bool thrown = false;
  std::thread([&] {
    error = lock.unlock_checked();
    try {
      lock.unlock();
    } catch (const std::system_error& why) {
      thrown = why.code() == std::errc::operation_not_permitted;
    }
  }).join();
  EXPECT_EQ(error, std::errc::operation_not_permitted);
  EXPECT_TRUE(thrown);
  EXPECT_FALSE(lock.unlock_checked()) << "the owner still holds it";
  EXPECT_EQ(lock.unlock_checked(), std::errc::operation_not_permitted) << "it is free";
}

TYPED_TEST(checked_lock, excludes_other_threads) {
  TypeParam lock;
  int inside = 0;
  {
    std::jthread other([&] {
      for (int i = 0; i < 1'000; ++i) {
        const std::lock_guard holds(lock);
        ++inside;
      }
    });
    for (int i = 0; i < 1'000; ++i) {
      const std::lock_guard holds(lock);
      ++inside;
    }
  }
  EXPECT_EQ(inside, 2'000);
}

TEST(host_probe, measures_at_least_once) {
  host_probe probe;
  EXPECT_GT(probe.stop().percentile(0.5), 0);
}

}  // namespace
}  // namespace troupe::lab
