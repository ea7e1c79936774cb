// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a turn: woken by a turn, with one ball that passes through the private slot,
// and with sixteen that pass through the rings; woken by a foreign thread that continues at once;
// woken by a foreign thread that waits for the turn, so that a worker is asleep each time. Prints
// nanoseconds per turn.

#include <cstddef>
#include <cstdio>
#include <deque>
#include <functional>
#include <latch>
#include <string_view>

#include <troupe/base/clock.hpp>
#include <troupe/detail/scheduler/worker_pool.hpp>
#include <troupe/detail/sync/parker.hpp>

#include "task_for_tests.hpp"

namespace {

using troupe::detail::task;
using troupe::detail::worker_pool;

template <class Run>
void report(const char* what, unsigned workers, std::size_t turns, Run&& run) {
  const auto start = troupe::clock::now();
  run();
  const std::chrono::duration<double, std::nano> took = troupe::clock::now() - start;
  std::printf("%-36s %2u workers %10.1f ns\n", what, workers,
              took.count() / static_cast<double>(turns));
}

// Tasks in a circle, each of which wakes the next.
void chain(const char* what, unsigned workers, std::size_t turns, std::size_t balls) {
  worker_pool pool(workers, task::turn);
  constexpr std::size_t tasks = 64;
  std::latch over(static_cast<std::ptrdiff_t>(balls));
  std::deque<task> all;
  std::deque<std::size_t> left(tasks, turns / tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    all.emplace_back(pool, [&, i] {
      if (left[i] == 0) {
        over.count_down();
      } else {
        --left[i];
        all[(i + 1) % tasks].poke();
      }
    });
  }
  task begin(pool, [&] {
    for (std::size_t i = 0; i < balls; ++i) all[i * tasks / balls].poke();
  });
  report(what, workers, turns, [&] {
    begin.poke();
    over.wait();
  });
}

void from_outside(unsigned workers, std::size_t turns) {
  worker_pool pool(workers, task::turn);
  constexpr std::size_t tasks = 64;
  std::latch over(static_cast<std::ptrdiff_t>(turns));
  std::deque<task> all;
  for (std::size_t i = 0; i < tasks; ++i) all.emplace_back(pool, [&] { over.count_down(); });
  report("a foreign thread, not waiting", workers, turns, [&] {
    for (std::size_t i = 0; i < turns; ++i) all[i % tasks].poke();
    over.wait();
  });
}

void there_and_back(unsigned workers, std::size_t turns) {
  worker_pool pool(workers, task::turn);
  troupe::parker foreign;
  task one(pool, [&] { foreign.notify(); });
  report("a foreign thread, waiting", workers, turns, [&] {
    for (std::size_t i = 0; i < turns; ++i) {
      one.poke();
      foreign.park();
    }
  });
}

}  // namespace

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::string_view(arguments[1]) == "--smoke";
  const std::size_t turns = smoke ? 6'400 : 6'400'000;
  for (const unsigned workers : {1u, 2u}) {
    chain("woken by a turn, one ball", workers, turns, 1);
    chain("woken by a turn, sixteen balls", workers, turns, 16);
    from_outside(workers, turns);
    there_and_back(workers, turns / 64);
  }
}
