// SPDX-License-Identifier: Apache-2.0
#include <troupe/scheduler/worker_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <checker/check.hpp>
#include <functional>
#include <troupe/sync/parker.hpp>

namespace troupe::detail {
namespace {

using model::expect_holds;
using model::plain;
using model::require;

// Runs once, then tells who waits.
struct task : runnable {
  plain<int> turns{0};
  parker* done = nullptr;
  std::function<void()> also;
};

turn_result turn(runnable& r, activity&) noexcept {
  auto& one = static_cast<task&>(r);
  one.turns = one.turns + 1;
  if (one.also) one.also();
  if (one.done != nullptr) one.done->notify();
  return turn_result::ended;
}

TEST(worker_pool, without_work_it_ends) {
  expect_holds([] { const worker_pool pool(2, turn); });
}

TEST(worker_pool, work_from_outside_gets_its_turn) {
  expect_holds({.preemptions = 2}, [] {
    parker done;
    task one;
    one.done = &done;
    worker_pool pool(1, turn);
    pool.schedule(one);
    done.park();
    require(one.turns == 1, "it has had one turn");
  });
}

TEST(worker_pool, work_from_two_threads_gets_its_turn) {
  expect_holds({.preemptions = 1}, [] {
    std::array<parker, 2> done;
    std::array<task, 2> tasks;
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

TEST(worker_pool, what_a_turn_schedules_gets_its_turn) {
  expect_holds({.random = 20'000}, [] {
    std::array<task, 3> tasks;
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

}  // namespace
}  // namespace troupe::detail
