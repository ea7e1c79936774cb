// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <iostream>
#include <latch>
#include <memory>
#include <random>
#include <vector>

#include <troupe/detail/scheduler/worker_pool.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>

#include "task_for_tests.hpp"

// Where a test checks that something happens at all, a broken promise makes the test hang.

namespace troupe::detail {
namespace {

constexpr unsigned sizes[] = {1, 2, 3, 16};
constexpr unsigned sizes_that_steal[] = {2, 3, 16};

void wait_until_all_are_parked(const worker_pool& pool) {
  while (pool.parked() != pool.size()) std::this_thread::yield();
}

std::uint64_t turns_of(const worker_pool& pool) {
  std::uint64_t sum = 0;
  pool.for_each_activity([&](const activity& done) { sum += done.turns.value(); });
  return sum;
}

// ── Starting and stopping ─────────────────────────────────────────────────────────────────────

TEST(worker_pool, empty) {
  for (const unsigned size : sizes) {
    const worker_pool pool(size, task::turn);
    EXPECT_EQ(pool.size(), size);
    EXPECT_FALSE(pool.is_current());
  }
}

TEST(worker_pool, parks_every_worker_while_there_is_no_work) {
  for (const unsigned size : sizes) {
    const worker_pool pool(size, task::turn);
    wait_until_all_are_parked(pool);
    EXPECT_EQ(turns_of(pool), 0u);
  }
}

TEST(worker_pool, stops_while_workers_search_and_park) {
  for (int round = 0; round < 200; ++round) {
    worker_pool pool(4, task::turn);
    std::latch over(1);
    task one(pool, [&] { over.count_down(); });
    one.poke();
    over.wait();
  }
}

// The scheduling threads may not have returned from schedule() yet.
TEST(worker_pool, may_be_destroyed_after_the_last_turn) {
  constexpr int threads = 4;
  for (int round = 0; round < 300; ++round) {
    auto pool = std::make_unique<worker_pool>(2, task::turn);
    std::latch over(threads);
    std::latch start(threads);
    std::deque<task> all;
    std::vector<jthread> scheduling;
    for (int t = 0; t < threads; ++t) {
      scheduling.emplace_back([&start, &one = all.emplace_back(*pool, [&] { over.count_down(); })] {
        start.arrive_and_wait();
        one.poke();
      });
    }
    over.wait();
    pool.reset();
  }
}

// ── Every scheduled runnable gets its turn ────────────────────────────────────────────────────

TEST(worker_pool, runs_each_scheduled_runnable_once) {
  constexpr int tasks = 2'000;
  for (const unsigned size : sizes) {
    worker_pool pool(size, task::turn);
    std::latch over(tasks);
    std::deque<task> all;
    for (int i = 0; i < tasks; ++i) {
      all.emplace_back(pool, [&] {
        EXPECT_TRUE(pool.is_current());
        over.count_down();
      });
    }
    for (task& each : all) each.poke();
    over.wait();
    EXPECT_EQ(turns_of(pool), static_cast<std::uint64_t>(tasks));
  }
}

TEST(worker_pool, one_to_one) {
  constexpr int pokes = 20'000;
  for (const unsigned size : sizes) {
    worker_pool pool(size, task::turn);
    std::latch over(1);
    int turns = 0;
    task one(pool, [&] {
      if (++turns == pokes) over.count_down();
    });
    for (int i = 0; i < pokes; ++i) one.poke();
    over.wait();
  }
}

TEST(worker_pool, many_to_one) {
  constexpr int threads = 4;
  constexpr int pokes = 5'000;
  for (const unsigned size : sizes) {
    worker_pool pool(size, task::turn);
    std::latch over(1);
    int turns = 0;  // not atomic: one turn at a time
    task one(pool, [&] {
      if (++turns == threads * pokes) over.count_down();
    });
    std::vector<jthread> foreign;
    for (int t = 0; t < threads; ++t) {
      foreign.emplace_back([&] {
        for (int i = 0; i < pokes; ++i) one.poke();
      });
    }
    over.wait();
  }
}

// Foreign threads begin; then each turn pokes one or two others at random until the tokens are used
// up. Each poke causes one turn, so the number of turns is known.
TEST(worker_pool, stampede) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  constexpr std::size_t tasks = 500;
  constexpr int tokens = 50'000;
  struct player {
    player(worker_pool& pool, unsigned seed, std::function<void(player&)> move)
        : random(seed), plays(pool, [this, move = std::move(move)] { move(*this); }) {}
    std::minstd_rand random;  // accessed by the turn only
    task plays;
  };
  for (const unsigned size : sizes) {
    worker_pool pool(size, task::turn);
    std::latch over(tasks + tokens);
    atomic<int> left{tokens};
    std::deque<player> all;
    const auto move = [&](player& self) {
      for (auto pokes = 1 + self.random() % 2; pokes > 0; --pokes) {
        // [left] relaxed: a count only.
        if (left.fetch_sub(1, relaxed) > 0) all[self.random() % tasks].plays.poke();
      }
      if (self.random() % 16 == 0) std::this_thread::yield();
      over.count_down();
    };
    for (unsigned i = 0; i < tasks; ++i) all.emplace_back(pool, seed + i, move);
    std::vector<jthread> foreign;
    for (std::size_t first = 0; first < 3; ++first) {
      foreign.emplace_back([&, first] {
        for (std::size_t i = first; i < tasks; i += 3) all[i].plays.poke();
      });
    }
    over.wait();
    EXPECT_EQ(turns_of(pool), tasks + tokens);
  }
}

// ── Order of turns ────────────────────────────────────────────────────────────────────────────

TEST(worker_pool, runs_the_last_woken_runnable_first_and_the_others_in_order) {
  worker_pool pool(1, task::turn);
  std::latch over(4);
  std::vector<int> order;
  std::deque<task> woken;
  for (int i = 0; i < 4; ++i) {
    woken.emplace_back(pool, [&, i] {
      order.push_back(i);
      over.count_down();
    });
  }
  task waker(pool, [&] {
    for (task& each : woken) each.poke();
  });
  waker.poke();
  over.wait();
  EXPECT_EQ(order, (std::vector{3, 0, 1, 2}));
}

// Two tasks that wake each other use the private slot; `third` waits after them.
void two_that_wake_each_other_let_a_third_have_its_turn(bool third_comes_from_outside) {
  worker_pool pool(1, task::turn);
  std::latch started(1);
  std::latch over(1);
  int turns = 0;
  bool third_had_its_turn = false;  // there is one worker only
  task* other[2];
  task ping(pool, [&] {
    if (turns++ == 0) started.count_down();
    if (!third_had_its_turn) other[0]->poke();
  });
  task pong(pool, [&] {
    ++turns;
    if (!third_had_its_turn) other[1]->poke();
  });
  other[0] = &pong;
  other[1] = &ping;
  task third(pool, [&] {
    third_had_its_turn = true;
    over.count_down();
  });
  task waker(pool, [&] {
    if (!third_comes_from_outside) third.poke();
    ping.poke();
  });
  waker.poke();
  started.wait();
  if (third_comes_from_outside) third.poke();
  over.wait();
}

TEST(worker_pool, two_that_wake_each_other_do_not_starve_its_ring) {
  two_that_wake_each_other_let_a_third_have_its_turn(false);
}

TEST(worker_pool, two_runnables_that_wake_each_other_do_not_starve_external_work) {
  two_that_wake_each_other_let_a_third_have_its_turn(true);
}

TEST(worker_pool, runnables_that_are_always_busy_do_not_starve_external_work) {
  for (const std::size_t busy : {1u, 2u, 300u}) {
    worker_pool pool(1, task::turn);
    std::latch started(static_cast<std::ptrdiff_t>(busy));
    std::latch over(1);
    bool last_had_its_turn = false;
    std::deque<task> all;
    for (std::size_t i = 0; i < busy; ++i) {
      all.emplace_back(pool, [&, i] {
        if (all[i].done == 0) started.count_down();
        if (!last_had_its_turn) all[i].poke();
      });
    }
    for (task& each : all) each.poke();
    started.wait();
    task last(pool, [&] {
      last_had_its_turn = true;
      over.count_down();
    });
    last.poke();
    over.wait();
  }
}

// The turns of tasks that always have more work may be long.
TEST(worker_pool, external_work_waits_for_few_turns_of_busy_runnables) {
  constexpr std::size_t busy = 2;
  constexpr int others = 10;
  worker_pool pool(1, task::turn);
  std::latch has_begun(1);
  std::latch all_are_there(1);
  std::latch over(1);
  int turns = 0;  // of the busy tasks; there is one worker only
  int left = others;
  std::deque<task> never_done;
  for (std::size_t i = 0; i < busy; ++i) {
    never_done.emplace_back(pool, [&, i] {
      if (left == 0) return;
      never_done[i].poke();
      if (i != 0) return;
      if (turns++ == 0) has_begun.count_down();
      all_are_there.wait();
    });
  }
  never_done[1].poke();
  never_done[0].poke();
  has_begun.wait();
  std::deque<task> from_outside;
  for (int i = 0; i < others; ++i) {
    from_outside.emplace_back(pool, [&] {
      if (--left == 0) over.count_down();
    });
    from_outside.back().poke();
  }
  all_are_there.count_down();
  over.wait();
  EXPECT_LE(turns, 3);
}

// ── Several workers ───────────────────────────────────────────────────────────────────────────

// The turn waits before it ends, so that only other workers can run the tasks that it has woken,
// except the last one, which is in its worker's private slot.
void woken_by_one_turn_runs_on_other_workers(std::ptrdiff_t tasks) {
  for (const unsigned size : sizes_that_steal) {
    worker_pool pool(size, task::turn);
    std::latch others(tasks - 1);
    std::latch over(1);
    std::deque<task> woken;
    for (std::ptrdiff_t i = 0; i < tasks - 1; ++i) {
      woken.emplace_back(pool, [&] { others.count_down(); });
    }
    woken.emplace_back(pool, [&] { over.count_down(); });
    task waker(pool, [&] {
      for (task& each : woken) each.poke();
      others.wait();
    });
    waker.poke();
    over.wait();
  }
}

TEST(worker_pool, workers_without_work_take_from_one_that_has) {
  woken_by_one_turn_runs_on_other_workers(200);
}

TEST(worker_pool, the_overflow_of_a_ring_is_available_to_all_workers) {
  woken_by_one_turn_runs_on_other_workers(2'000);
}

TEST(worker_pool, a_ring_overflow_with_a_single_worker_loses_nothing) {
  constexpr int tasks = 2'000;
  worker_pool pool(1, task::turn);
  std::latch over(tasks);
  std::deque<task> woken;
  for (int i = 0; i < tasks; ++i) woken.emplace_back(pool, [&] { over.count_down(); });
  task waker(pool, [&] {
    for (task& each : woken) each.poke();
  });
  waker.poke();
  over.wait();
}

// As many turns as there are workers wait for each other, which ends only if all workers are awake.
TEST(worker_pool, wakes_all_workers_if_there_is_work_for_all) {
  for (const unsigned size : sizes) {
    for (int round = 0; round < 200; ++round) {
      worker_pool pool(size, task::turn);
      if (round % 2 == 0) wait_until_all_are_parked(pool);
      std::latch all_are_here(size);
      std::deque<task> all;
      for (unsigned i = 0; i < size; ++i) {
        all.emplace_back(pool, [&] { all_are_here.arrive_and_wait(); });
      }
      for (task& each : all) each.poke();
      all_are_here.wait();
    }
  }
}

TEST(worker_pool, wakes_all_workers_if_one_turn_schedules_work_for_all) {
  for (const unsigned size : sizes) {
    worker_pool pool(size, task::turn);
    for (int round = 0; round < 200; ++round) {
      if (round % 2 == 0) wait_until_all_are_parked(pool);
      std::latch all_are_here(size);
      std::latch over(1);
      std::deque<task> others;
      for (unsigned i = 1; i < size; ++i) {
        others.emplace_back(pool, [&] { all_are_here.arrive_and_wait(); });
      }
      others.emplace_back(pool, [&] { over.count_down(); });  // in the private slot
      task waker(pool, [&] {
        for (task& each : others) each.poke();
        all_are_here.arrive_and_wait();
      });
      waker.poke();
      over.wait();
    }
  }
}

// ── No wake-up is lost ────────────────────────────────────────────────────────────────────────

TEST(worker_pool, a_parked_worker_wakes_for_a_foreign_thread) {
  for (const unsigned size : sizes) {
    worker_pool pool(size, task::turn);
    parker foreign;
    task one(pool, [&] { foreign.notify(); });
    for (int round = 0; round < 2'000; ++round) {
      // In half of the rounds the workers may still be about to fall asleep.
      if (round % 2 == 0) wait_until_all_are_parked(pool);
      one.poke();
      foreign.park();
    }
  }
}

TEST(worker_pool, workers_wake_for_many_foreign_threads) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  for (const unsigned size : sizes) {
    worker_pool pool(size, task::turn);
    std::vector<jthread> foreign;
    for (unsigned t = 0; t < 3; ++t) {
      foreign.emplace_back([&, t] {
        std::minstd_rand random(seed + t);
        parker mine;
        task one(pool, [&] { mine.notify(); });
        for (int round = 0; round < 2'000; ++round) {
          for (auto pause = random() % 200; pause > 0; --pause) cpu_relax();
          one.poke();
          mine.park();
        }
      });
    }
  }
}

// The waker's worker waits until another worker has taken `helper` from its ring. `helper` was
// moved there from the slot by the next woken task.
TEST(worker_pool, a_parked_worker_wakes_for_another_worker) {
  for (const unsigned size : sizes_that_steal) {
    worker_pool pool(size, task::turn);
    parker main;
    parker waiting_worker;
    task helper(pool, [&] { waiting_worker.notify(); });
    task in_the_slot(pool, [&] { main.notify(); });
    task waker(pool, [&] {
      helper.poke();
      in_the_slot.poke();
      waiting_worker.park();
    });
    for (int round = 0; round < 2'000; ++round) {
      if (round % 3 == 0) wait_until_all_are_parked(pool);
      waker.poke();
      main.park();
      in_the_slot.wait_until_it_rests();  // so that the next poke schedules it again
    }
  }
}

// A worker takes several runnables from the shared queue at once; those after the first must be
// found in its ring.
TEST(worker_pool, a_blocked_turn_does_not_delay_work_scheduled_after_it) {
  for (const unsigned size : sizes_that_steal) {
    worker_pool pool(size, task::turn);
    parker main;
    parker waiting_worker;
    task behind(pool, [&] { waiting_worker.notify(); });
    task first(pool, [&] {
      waiting_worker.park();
      main.notify();
    });
    for (int round = 0; round < 2'000; ++round) {
      if (round % 3 == 0) wait_until_all_are_parked(pool);
      first.poke();
      behind.poke();
      main.park();
    }
  }
}

TEST(worker_pool, a_worker_of_another_pool_is_a_foreign_thread) {
  constexpr int rounds = 2'000;
  worker_pool here(2, task::turn);
  worker_pool there(2, task::turn);
  std::latch over(1);
  int left = rounds;
  task* ball[2];
  task ping(here, [&] {
    EXPECT_TRUE(here.is_current());
    EXPECT_FALSE(there.is_current());
    ball[0]->poke();
  });
  task pong(there, [&] {
    EXPECT_TRUE(there.is_current());
    if (--left == 0) {
      over.count_down();
    } else {
      ball[1]->poke();
    }
  });
  ball[0] = &pong;
  ball[1] = &ping;
  ping.poke();
  over.wait();
}

}  // namespace
}  // namespace troupe::detail
