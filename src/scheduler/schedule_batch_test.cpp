// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <latch>
#include <memory>
#include <optional>
#include <thread>

#include <troupe/detail/scheduler/schedule_batch.hpp>
#include <troupe/detail/scheduler/worker_pool.hpp>

#include "task_for_tests.hpp"

// Where a test checks that something happens at all, a broken promise makes the test hang.

namespace troupe::detail {
namespace {

TEST(schedule_batch, runs_its_runnables_only_after_a_flush) {
  worker_pool pool(2, task::turn);
  std::latch over(6);
  std::deque<task> tasks;
  for (int i = 0; i < 3; ++i) tasks.emplace_back(pool, [&] { over.count_down(); });
  schedule_batch batch;
  {
    const schedule_batch::scope gathering(batch);
    for (task& each : tasks) each.poke();
    for (task& each : tasks) each.poke();  // scheduled already
  }
  EXPECT_FALSE(batch.empty());
  EXPECT_FALSE(over.try_wait());
  batch.flush();
  EXPECT_TRUE(batch.empty());
  over.wait();
  for (task& each : tasks) {
    each.wait_until_it_rests();
    EXPECT_EQ(each.done, 2u);
  }
}

TEST(schedule_batch, its_end_is_a_flush) {
  worker_pool pool(1, task::turn);
  std::latch over(1);
  task one(pool, [&] { over.count_down(); });
  {
    schedule_batch batch;
    const schedule_batch::scope gathering(batch);
    one.poke();
  }
  over.wait();
}

TEST(schedule_batch, only_its_scopes_and_its_thread_put_into_it) {
  worker_pool pool(1, task::turn);
  schedule_batch batch;
  task before(pool);
  { const schedule_batch::scope gathering(batch); }
  before.poke();
  before.wait_until_it_rests();
  const schedule_batch::scope gathering(batch);
  task elsewhere(pool);
  std::jthread{[&] { elsewhere.poke(); }}.join();
  elsewhere.wait_until_it_rests();
  EXPECT_TRUE(batch.empty());
}

TEST(schedule_batch, does_not_wait_when_it_is_long) {
  constexpr std::size_t all = 1000;
  constexpr std::size_t long_enough = 100;
  worker_pool pool(1, task::turn);
  std::deque<task> tasks;
  schedule_batch batch;
  const schedule_batch::scope gathering(batch);
  std::size_t waiting = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < all; ++i) {
    tasks.emplace_back(pool).poke();
    waiting = batch.empty() ? 0 : waiting + 1;
    longest = std::max(longest, waiting);
  }
  EXPECT_GT(longest, 1u) << "it gathers";
  ASSERT_LT(longest, long_enough);
  // Only the batch itself flushes.
  for (std::size_t i = 0; i < all - waiting; ++i) {
    tasks[i].wait_until_it_rests();
    EXPECT_EQ(tasks[i].done, 1);
  }
}

TEST(schedule_batch, is_flushed_before_it_takes_work_for_another_pool) {
  worker_pool first(1, task::turn), second(1, task::turn);
  task one(first), two(second);
  schedule_batch batch;
  const schedule_batch::scope gathering(batch);
  one.poke();
  two.poke();
  one.wait_until_it_rests();
  batch.flush();
}

TEST(schedule_batch, a_runnable_in_the_batch_may_be_scheduled_by_another_thread) {
  worker_pool pool(2, task::turn);
  task one(pool);
  {
    schedule_batch batch;
    const schedule_batch::scope gathering(batch);
    one.poke();
    std::jthread{[&] { one.poke(); }}.join();
    EXPECT_FALSE(batch.empty());
  }
  one.wait_until_it_rests();
  EXPECT_EQ(one.done, 2u);
}

}  // namespace
}  // namespace troupe::detail
