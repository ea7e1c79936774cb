// SPDX-License-Identifier: Apache-2.0
// A worker that passes from one thread to another in the middle of a turn. Each of its tasks
// belongs to exactly one of them.
#include <troupe/detail/scheduler/worker_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <chrono>
#include <troupe/detail/sync/parker.hpp>

#include "pool_task.hpp"

namespace troupe::detail {
namespace {

using namespace std::chrono_literals;
using model::expect_holds;
using model::require;
using model::varies;

pool_options watched_by_monitor(unsigned workers) {
  pool_options options;
  options.workers = workers;
  options.max_threads = workers + 1;
  options.blocking_threshold = 1ms;
  return options;
}

TEST(worker_replacement, work_that_a_blocked_turn_woke_is_run) {
  expect_holds({.random = 5'000, .timeouts = 4}, [] {
    parker done;
    parker second;
    std::array<pool_task, 2> tasks;
    worker_pool pool(watched_by_monitor(1), turn);
    tasks[0].done = &done;
    tasks[1].done = &second;
    tasks[0].also = [&] {
      pool.schedule(tasks[1]);  // into the slot
      second.park();
    };
    pool.schedule(tasks[0]);
    done.park();
    require(tasks[1].turns == 1, "it has had one turn");
  });
}

TEST(worker_replacement, external_work_that_a_blocked_turn_waits_for_is_run) {
  expect_holds({.random = 5'000, .timeouts = 4}, [] {
    parker done;
    parker begun;
    parker second;
    std::array<pool_task, 2> tasks;
    worker_pool pool(watched_by_monitor(1), turn);
    tasks[0].done = &done;
    tasks[1].done = &second;
    tasks[0].also = [&] {
      begun.notify();
      second.park();
    };
    pool.schedule(tasks[0]);
    begun.park();
    pool.schedule(tasks[1]);
    done.park();
  });
}

// Whether the worker is taken away or not, and in any step: each task has exactly one turn.
TEST(worker_replacement, a_returning_turn_has_kept_or_lost_its_worker) {
  expect_holds({.random = 20'000, .timeouts = 8}, [] {
    std::array<parker, 3> done;
    std::array<pool_task, 4> tasks;
    worker_pool pool(watched_by_monitor(1), turn);
    for (std::size_t i = 0; i < done.size(); ++i) tasks[i].done = &done[i];
    tasks[3].also = [&] {
      for (std::size_t i = 0; i < done.size(); ++i) pool.schedule(tasks[i]);
    };
    pool.schedule(tasks[3]);
    for (parker& each : done) each.park();
    for (pool_task& each : tasks) require(each.turns == 1, "each has had one turn");
  });
}

// If no thread is available, the waiting tasks go to the other worker, and the thread gets its
// worker back.
TEST(worker_replacement, work_that_a_blocked_turn_woke_is_run_by_another_worker) {
  expect_holds({.random = 10'000, .timeouts = 6}, [] {
    std::array<parker, 2> done;
    parker second;
    std::array<pool_task, 3> tasks;
    pool_options options = watched_by_monitor(2);
    options.max_threads = 2;
    worker_pool pool(options, turn);
    tasks[0].done = &done[0];
    tasks[1].done = &second;
    tasks[2].done = &done[1];
    tasks[0].also = [&] {
      pool.schedule(tasks[1]);  // into the slot
      second.park();
      pool.schedule(tasks[2]);
    };
    pool.schedule(tasks[0]);
    for (parker& each : done) each.park();
    for (pool_task& each : tasks) require(each.turns == 1, "each has had one turn");
  });
}

TEST(worker_replacement, a_returning_turn_has_its_worker_without_a_spare_thread) {
  expect_holds({.random = 20'000, .timeouts = 8}, [] {
    std::array<parker, 2> done;
    std::array<pool_task, 3> tasks;
    pool_options options = watched_by_monitor(1);
    options.max_threads = 1;
    worker_pool pool(options, turn);
    for (std::size_t i = 0; i < done.size(); ++i) tasks[i].done = &done[i];
    tasks[2].also = [&] {
      for (std::size_t i = 0; i < done.size(); ++i) pool.schedule(tasks[i]);
    };
    pool.schedule(tasks[2]);
    for (parker& each : done) each.park();
    for (pool_task& each : tasks) require(each.turns == 1, "each has had one turn");
  });
}

// ── Stealing from the slot by an idle worker ──────────────────────────────────────────────────

// Only the other worker watches the turns.
TEST(stealing_from_a_slot, work_in_the_slot_runs_while_the_current_turn_continues) {
  expect_holds({.random = 10'000, .timeouts = 6}, [] {
    parker done;
    parker second;
    std::array<pool_task, 2> tasks;
    worker_pool pool(2, turn);
    tasks[0].done = &done;
    tasks[1].done = &second;
    tasks[0].also = [&] {
      pool.schedule(tasks[1]);  // into the slot
      second.park();
    };
    pool.schedule(tasks[0]);
    done.park();
    for (pool_task& each : tasks) require(each.turns == 1, "each has had one turn");
  });
}

// Whether a task is taken or not, in any step of a turn that keeps filling the slot.
TEST(stealing_from_a_slot, each_task_runs_once_whichever_worker_takes_it) {
  expect_holds({.random = 20'000, .timeouts = 8}, [] {
    std::array<parker, 3> done;
    std::array<pool_task, 4> tasks;
    worker_pool pool(2, turn);
    for (std::size_t i = 0; i < done.size(); ++i) tasks[i].done = &done[i];
    tasks[3].also = [&] {
      for (std::size_t i = 0; i < done.size(); ++i) pool.schedule(tasks[i]);
    };
    pool.schedule(tasks[3]);
    for (parker& each : done) each.park();
    for (pool_task& each : tasks) require(each.turns == 1, "each has had one turn");
  });
}

// The lookout takes the task that waits in one slot. Another worker then watches the other slot.
TEST(stealing_from_a_slot, of_three_workers_the_next_one_looks_out) {
  expect_holds({.random = 10'000, .timeouts = 8}, [] {
    std::array<parker, 2> done;
    std::array<parker, 2> woken;
    std::array<pool_task, 3> tasks;
    worker_pool pool(3, turn);
    tasks[0].done = &done[0];
    tasks[1].done = &woken[0];
    tasks[2].done = &woken[1];
    tasks[0].also = [&] {
      pool.schedule(tasks[1]);
      woken[0].park();
    };
    tasks[1].also = [&] {
      pool.schedule(tasks[2]);
      woken[1].park();
    };
    pool.schedule(tasks[0]);
    done[0].park();
    for (pool_task& each : tasks) require(each.turns == 1, "each has had one turn");
  });
}

// All workers have been idle so long that none looks out. The thread that fills the slot wakes one.
TEST(stealing_from_a_slot, the_lookout_is_woken_by_the_first_to_fill_one) {
  expect_holds({.random = 10'000, .timeouts = 12}, [] {
    parker first;
    parker done;
    parker second;
    std::array<pool_task, 3> tasks;
    worker_pool pool(2, turn);
    tasks[0].done = &first;
    tasks[1].done = &done;
    tasks[2].done = &second;
    tasks[1].also = [&] {
      pool.schedule(tasks[2]);
      second.park();
    };
    pool.schedule(tasks[0]);
    first.park();
    pool.schedule(tasks[1]);
    done.park();
  });
}

TEST(worker_replacement, a_turn_that_will_block_releases_its_worker) {
  expect_holds({.random = 10'000}, [] {
    parker done;
    parker second;
    parker last;
    std::array<pool_task, 3> tasks;
    worker_pool pool({.workers = 1, .max_threads = 2}, turn);
    tasks[0].done = &done;
    tasks[1].done = &second;
    tasks[2].done = &last;
    tasks[0].also = [&] {
      pool.schedule(tasks[1]);
      require(pool.will_block(), "there is another thread");
      pool.schedule(tasks[2]);  // by a thread that has no worker
      second.park();
    };
    pool.schedule(tasks[0]);
    done.park();
    last.park();
  });
}

TEST(worker_replacement, two_turns_that_will_block_are_two_threads_more_or_one_of_them_waits) {
  expect_holds({.random = 5'000}, [] {
    std::array<parker, 2> done;
    std::array<pool_task, 2> tasks;
    worker_pool pool({.workers = 1, .max_threads = 2}, turn);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].done = &done[i];
      tasks[i].also = [&] { varies(pool.will_block(), "there is another thread"); };
      pool.schedule(tasks[i]);
    }
    for (parker& each : done) each.park();
  });
}

}  // namespace
}  // namespace troupe::detail
