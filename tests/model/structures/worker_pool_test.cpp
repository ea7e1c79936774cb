// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/scheduler/worker_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <functional>
#include <troupe/detail/scheduler/tuning.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/per_thread.hpp>

#include "pool_task.hpp"

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;

TEST(worker_pool, without_work_it_ends) {
  expect_holds({.preemptions = 2}, [] { const worker_pool pool(2, turn); });
}

TEST(worker_pool, runs_work_from_outside) {
  expect_holds({.preemptions = 2}, [] {
    parker done;
    pool_task one;
    one.done = &done;
    worker_pool pool(1, turn);
    pool.schedule(one);
    done.park();
    require(one.turns == 1, "it has had one turn");
  });
}

TEST(worker_pool, runs_work_from_two_threads) {
  expect_holds({.preemptions = 1}, [] {
    std::array<parker, 2> done;
    std::array<pool_task, 2> tasks;
    worker_pool pool(1, turn);
    tasks[0].done = &done[0];
    tasks[1].done = &done[1];
    jthread other([&] {
      pool.schedule(tasks[0]);
      done[0].park();
    });
    pool.schedule(tasks[1]);
    done[1].park();
  });
}

TEST(worker_pool, work_for_running_workers_is_run_and_delays_no_other_work) {
  expect_holds({.random = 10'000}, [] {
    std::array<pool_task, 3> tasks;
    std::array<parker, 3> done;
    worker_pool pool(2, turn);
    for (std::size_t i = 0; i < 3; ++i) tasks[i].done = &done[i];
    tasks[0].also = [&] { pool.schedule(tasks[2]); };
    pool.schedule(tasks[0]);
    pool.schedule_for_the_running(tasks[1]);
    for (parker& each : done) each.park();
    for (const pool_task& each : tasks) require(each.turns == 1, "it has had one turn");
  });
}

// Either no worker runs any more, or one is about to park.
TEST(worker_pool, work_for_running_workers_is_not_missed_by_the_last_of_them) {
  expect_holds({.preemptions = 1}, [] {
    std::array<pool_task, 2> tasks;
    std::array<parker, 2> done;
    worker_pool pool(1, turn);
    tasks[0].done = &done[0];
    tasks[1].done = &done[1];
    pool.schedule(tasks[0]);
    pool.schedule_for_the_running(tasks[1]);
    done[0].park();
    done[1].park();
  });
}

TEST(worker_pool, runs_work_that_a_turn_schedules) {
  expect_holds({.random = 20'000}, [] {
    std::array<pool_task, 3> tasks;
    worker_pool pool(2, turn);
    tasks[0].also = [&] {
      pool.schedule(tasks[1]);
      pool.schedule(tasks[2]);
    };
    std::array<parker, 2> both;
    tasks[1].done = &both[0];
    tasks[2].done = &both[1];
    pool.schedule(tasks[0]);
    both[0].park();
    both[1].park();
  });
}

TEST(worker_pool, a_blocked_turn_does_not_delay_work_scheduled_after_it) {
  expect_holds({.random = 20'000}, [] {
    std::array<pool_task, 2> tasks;
    parker done;
    parker second;
    tasks[0].also = [&] { second.park(); };
    tasks[0].done = &done;
    tasks[1].done = &second;
    worker_pool pool(2, turn);
    pool.schedule(tasks[0]);
    pool.schedule(tasks[1]);
    done.park();
  });
}

TEST(worker_pool, a_blocked_turn_does_not_delay_work_that_it_woke) {
  expect_holds({.random = 20'000}, [] {
    std::array<pool_task, 3> tasks;
    parker done;
    parker second;
    parker last;
    tasks[0].done = &done;
    tasks[1].done = &second;
    tasks[2].done = &last;
    worker_pool pool(2, turn);
    tasks[0].also = [&] {
      pool.schedule(tasks[1]);
      pool.schedule(tasks[2]);  // into the slot, from which it displaces the other task
      second.park();
    };
    pool.schedule(tasks[0]);
    done.park();
    last.park();
  });
}

// A turn waits for one of four tasks that it has scheduled, and that task waits for the next.
struct turns_that_wait {
  std::array<pool_task, 4> tasks;
  std::array<parker, 3> done;
  std::array<parker, 2> waiting;
  pool_task waker;

  void prepare(worker_pool& pool) {
    waker.done = &done[2];
    tasks[0].also = [this] { waiting[1].park(); };
    tasks[0].done = &waiting[0];
    tasks[1].done = &waiting[1];
    tasks[2].done = &done[0];
    tasks[3].done = &done[1];
    waker.also = [this, &pool] {
      for (pool_task& each : tasks) pool.schedule(each);
      waiting[0].park();
    };
  }
  void wait() {
    for (parker& each : done) each.park();
  }
};

// Two workers wait. The tasks that the second one has stolen together with its turn are left to the
// third.
TEST(worker_pool, a_blocked_turn_does_not_delay_work_that_its_worker_stole) {
  expect_holds({.random = 10'000}, [] {
    turns_that_wait these;
    worker_pool pool(3, turn);
    these.prepare(pool);
    pool.schedule(these.waker);
    these.wait();
  });
}

// One task is in the slot, a ring holds some, and half of these and one more go to the shared
// queue.
TEST(worker_pool, runs_work_that_overflows_the_ring) {
  expect_holds({.random = 5'000}, [] {
    constexpr std::size_t count = tuning::ring_capacity + 2;
    std::array<pool_task, count> tasks;
    std::array<parker, count> done;
    pool_task first;
    worker_pool pool(2, turn);
    first.also = [&] {
      for (pool_task& each : tasks) pool.schedule(each);
    };
    for (std::size_t i = 0; i < count; ++i) tasks[i].done = &done[i];
    pool.schedule(first);
    for (parker& each : done) each.park();
  });
}

TEST(worker_pool, runs_work_that_is_scheduled_together) {
  expect_holds({.random = 10'000}, [] {
    std::array<pool_task, 3> tasks;
    std::array<parker, 3> done;
    worker_pool pool(2, turn);
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].done = &done[i];
    for (pool_task& each : tasks) pool.schedule(each);
    for (parker& each : done) each.park();
  });
}

// ── With a limit: under the checker each look changes it, every third turn ────────────────────

// Some quick turns in sequence, and then `last`.
struct turns_before {
  std::array<pool_task, 3> quick;
  void start(worker_pool& pool, pool_task& last) {
    for (std::size_t i = 0; i < quick.size(); ++i) {
      pool_task& next = i + 1 < quick.size() ? quick[i + 1] : last;
      quick[i].also = [&pool, &next] { pool.schedule(next); };
    }
    pool.schedule(quick[0]);
  }
};

TEST(worker_limit, an_excluded_worker_helps_a_stuck_one) {
  expect_holds({.random = 5'000}, [] {
    std::array<parker, 2> done;
    parker second;
    std::array<pool_task, 3> tasks;
    turns_before all;
    worker_pool pool(2, turn);
    tasks[0].done = &done[0];
    tasks[1].done = &second;
    tasks[2].done = &done[1];
    tasks[0].also = [&] {
      pool.schedule(tasks[1]);
      pool.schedule(tasks[2]);
      second.park();
    };
    all.start(pool, tasks[0]);
    for (parker& each : done) each.park();
  });
}

TEST(worker_limit, an_excluded_worker_takes_shared_work_when_another_is_stuck) {
  expect_holds({.random = 5'000}, [] {
    parker done;
    parker second;
    parker started;
    std::array<pool_task, 2> tasks;
    turns_before all;
    worker_pool pool(2, turn);
    tasks[0].done = &done;
    tasks[1].done = &second;
    tasks[0].also = [&] {
      started.notify();
      second.park();
    };
    all.start(pool, tasks[0]);
    started.park();
    pool.schedule(tasks[1]);
    done.park();
  });
}

TEST(worker_limit, transferred_work_is_run) {
  expect_holds({.random = 5'000}, [] {
    std::array<parker, 6> done;
    std::array<pool_task, 6> tasks;
    pool_task from_outside;
    parker also_done;
    pool_task first;
    turns_before all;
    worker_pool pool(2, turn);
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].done = &done[i];
    from_outside.done = &also_done;
    first.also = [&] {
      for (pool_task& each : tasks) pool.schedule(each);
    };
    jthread other([&] {
      pool.schedule(from_outside);
      also_done.park();
    });
    all.start(pool, first);
    for (parker& each : done) each.park();
  });
}

TEST(worker_limit, of_three_some_keep_out) {
  expect_holds({.random = 5'000}, [] {
    std::array<parker, 5> done;
    std::array<pool_task, 5> tasks;
    pool_task first;
    turns_before all;
    worker_pool pool(3, turn);
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].done = &done[i];
    first.also = [&] {
      for (pool_task& each : tasks) pool.schedule(each);
    };
    all.start(pool, first);
    for (parker& each : done) each.park();
  });
}

// The watcher's turn waits for another task that the watcher has taken with it. By then another
// worker must watch.
TEST(worker_limit, of_three_the_next_one_watches) {
  expect_holds({.random = 10'000}, [] {
    turns_that_wait these;
    turns_before all;
    worker_pool pool(3, turn);
    these.prepare(pool);
    all.start(pool, these.waker);
    these.wait();
  });
}

TEST(worker_limit, an_excluded_worker_wakes_when_all_others_have_parked) {
  expect_holds({.random = 5'000}, [] {
    std::array<parker, 4> done;
    std::array<pool_task, 4> tasks;
    turns_before all;
    worker_pool pool(2, turn);
    for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].done = &done[i];
    all.start(pool, tasks[0]);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (i != 0) pool.schedule(tasks[i]);
      done[i].park();
    }
  });
}

// The last action of a thread: its thread-locals are destroyed.
struct last_look {
  const plain<int>* at = nullptr;
  ~last_look() {
    if (at != nullptr) require(*at == 1, "it comes after the pool was told to end");
  }
};

TEST(worker_pool, its_threads_exit_after_all_writes_that_precede_its_destruction) {
  expect_holds({.random = 20'000}, [] {
    plain<int> last_words{0};
    std::array<pool_task, 3> tasks;
    std::array<parker, 3> done;
    {
      worker_pool pool(3, turn);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        tasks[i].also = [&] { per_thread<last_look>::here().at = &last_words; };
        tasks[i].done = &done[i];
      }
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        pool.schedule(tasks[i]);
        done[i].park();
      }
      last_words = 1;
    }
  });
}

}  // namespace
}  // namespace troupe::detail
