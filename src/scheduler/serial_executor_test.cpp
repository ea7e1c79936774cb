// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/scheduler/serial_executor.hpp>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <troupe/detail/scheduler/worker_pool.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>

#include "task_for_tests.hpp"

namespace troupe::detail {
namespace {

struct let_go {
  void operator()(serial_executor* one) const noexcept { one->let_go(); }
};
using group = std::unique_ptr<serial_executor, let_go>;

group make_group(worker_pool& pool) { return group(&serial_executor::make(pool)); }

class serial_executor_on : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, serial_executor_on, testing::Values(1u, 2u, 3u, 16u));

TEST_P(serial_executor_on, turns_never_overlap_and_see_each_other) {
  constexpr int members = 5;
  constexpr int threads = 3;
  constexpr int pokes = 5'000;
  worker_pool pool(GetParam(), task::turn_by_executor);
  const group one = make_group(pool);
  int shared = 0;  // not atomic: one turn at a time
  {
    std::vector<std::unique_ptr<task>> all;
    for (int i = 0; i < members; ++i)
      all.push_back(std::make_unique<task>(*one, [&] { ++shared; }));
    std::vector<jthread> foreign;
    for (int t = 0; t < threads; ++t) {
      foreign.emplace_back([&] {
        for (int i = 0; i < pokes; ++i) all[static_cast<std::size_t>(i % members)]->poke();
      });
    }
    foreign.clear();
    for (const auto& each : all) each->wait_until_it_rests();
  }
  parker done;  // notified by the last turn
  task last(*one, [&] { done.notify(); });
  last.poke();
  done.park();
  last.wait_until_it_rests();
  EXPECT_EQ(shared, threads * pokes);
}

TEST_P(serial_executor_on, several_groups_and_other_runnables_do_not_disturb_each_other) {
  constexpr int rounds = 20'000;
  worker_pool pool(GetParam(), task::turn_by_executor);
  const group one = make_group(pool);
  const group other = make_group(pool);
  int in_one = 0;
  int in_other = 0;
  atomic<int> left{rounds};
  parker done;
  std::vector<std::unique_ptr<task>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(std::make_unique<task>(*one, [&] { ++in_one; }));
    all.push_back(std::make_unique<task>(*other, [&] { ++in_other; }));
  }
  task drives(pool);
  drives.work = [&] {
    const int n = --left;
    if (n < 0) return;
    all[static_cast<std::size_t>(n) % all.size()]->poke();
    if (n == 0) {
      done.notify();
    } else {
      drives.poke();
    }
  };
  drives.poke();
  done.park();
  drives.wait_until_it_rests();
  for (const auto& each : all) each->wait_until_it_rests();
  EXPECT_EQ(in_one + in_other, rounds);
}

TEST(serial_executor, keeps_the_order_in_which_they_were_scheduled) {
  worker_pool pool(2, task::turn_by_executor);
  const group one = make_group(pool);
  parker begun;
  parker go_on;
  parker done;
  std::vector<int> order;
  task first(*one, [&] {
    begun.notify();
    go_on.park();
  });
  task a(*one, [&] { order.push_back(1); });
  task b(*one, [&] { order.push_back(2); });
  task c(*one, [&] {
    order.push_back(3);
    done.notify();
  });
  first.poke();
  begun.park();
  a.poke();
  b.poke();
  c.poke();
  EXPECT_TRUE(order.empty());
  go_on.notify();
  done.park();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

// A task that always has more work.
struct busy_task : task {
  explicit busy_task(executor& on, atomic<bool>& stop) : task(on) {
    work = [this, &stop] {
      if (!stop) asked.fetch_add(1, relaxed);
    };
  }
};

TEST(serial_executor, a_busy_runnable_does_not_starve_its_group) {
  worker_pool pool(1, task::turn_by_executor);
  const group one = make_group(pool);
  atomic<bool> stop{false};
  busy_task busy(*one, stop);
  parker told;
  task other(*one, [&] { told.notify(); });
  busy.poke();
  for (int i = 0; i < 100; ++i) {
    other.poke();
    told.park();
  }
  stop = true;
}

TEST(serial_executor, with_many_busy_ones_does_not_starve_others) {
  worker_pool pool(1, task::turn_by_executor);
  const group one = make_group(pool);
  atomic<bool> stop{false};
  std::vector<std::unique_ptr<busy_task>> busy;
  for (int i = 0; i < 10; ++i) {
    busy.push_back(std::make_unique<busy_task>(*one, stop));
    busy.back()->poke();
  }
  parker told;
  task other(pool, [&] { told.notify(); });
  for (int i = 0; i < 100; ++i) {
    other.poke();
    told.park();
  }
  stop = true;
}

// The group gets as many turns as one runnable outside of it, whatever the number of its members.
TEST(serial_executor, is_scheduled_like_a_single_runnable) {
  worker_pool pool(1, task::turn_by_executor);
  const group one = make_group(pool);
  constexpr int members = 10;
  constexpr int turns = 20'000;
  atomic<bool> stop{false};
  int in_group = 0;
  int alone = 0;
  parker done;
  std::vector<std::unique_ptr<task>> all;
  for (int i = 0; i < members; ++i) {
    all.push_back(std::make_unique<task>(*one));
    task& it = *all.back();
    it.work = [&] {
      ++in_group;
      if (!stop) it.asked.fetch_add(1, relaxed);
    };
  }
  task other(pool);
  other.work = [&] {
    if (++alone == turns) {
      stop = true;
      done.notify();
    } else {
      other.asked.fetch_add(1, relaxed);
    }
  };
  // Within a turn, so that all begin together.
  task starts(pool, [&] {
    for (const auto& each : all) each->poke();
    other.poke();
  });
  starts.poke();
  done.park();
  all.clear();
  EXPECT_GE(in_group, turns / 4);
  EXPECT_LE(in_group, turns * 4);
}

TEST(serial_executor, is_destroyed_with_its_last_runnable) {
  for (int round = 0; round < 1'000; ++round) {
    worker_pool pool(2, task::turn_by_executor);
    group one = make_group(pool);
    std::vector<std::unique_ptr<task>> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(std::make_unique<task>(*one));
      all.back()->work = [it = all.back().get()] { it->end(); };
      one->hold();
    }
    one.reset();
    for (const auto& each : all) each->poke();
    all.clear();
  }
}

TEST(serial_executor, a_blocked_turn_delays_only_its_own_group) {
  worker_pool pool({.workers = 1}, task::turn_by_executor);
  const group one = make_group(pool);
  parker begun;
  parker go_on;
  parker told;
  atomic<int> in_group{0};
  task first(*one, [&] {
    EXPECT_TRUE(one->will_block());
    begun.notify();
    go_on.park();
  });
  task second(*one, [&] { ++in_group; });
  task other(pool, [&] { told.notify(); });
  first.poke();
  begun.park();
  second.poke();
  for (int i = 0; i < 100; ++i) {
    other.poke();
    told.park();
  }
  EXPECT_EQ(in_group, 0);
  go_on.notify();
  second.wait_until_it_rests();
  EXPECT_EQ(in_group, 1);
}

TEST(serial_executor, reports_the_executor_whose_threads_it_uses) {
  worker_pool pool(1, task::turn_by_executor);
  const group one = make_group(pool);
  EXPECT_TRUE(one->is_serial());
  EXPECT_EQ(&one->whose_threads(), &pool);
  EXPECT_FALSE(pool.is_serial());
  EXPECT_EQ(&pool.whose_threads(), &pool);
}

}  // namespace
}  // namespace troupe::detail
