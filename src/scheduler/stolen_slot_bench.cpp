// SPDX-License-Identifier: Apache-2.0
//
// Measures how long a woken runnable waits for its turn while the turn that woke it computes for 8
// ms and another worker is idle. Prints microseconds: the median and the 99th percentile. Two
// cases: the pool was at rest before; long turns run back to back.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <semaphore>
#include <string_view>
#include <thread>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/scheduler/worker_pool.hpp>

#include "task_for_tests.hpp"

namespace {

using namespace std::chrono_literals;
using troupe::clock;
using troupe::duration;
using troupe::time_point;
using troupe::detail::task;
using troupe::detail::worker_pool;

void report(const char* what, std::vector<duration> waited) {
  std::sort(waited.begin(), waited.end());
  const auto at = [&](double part) {
    const auto index = static_cast<std::size_t>(part * static_cast<double>(waited.size()));
    return std::chrono::duration<double, std::micro>(waited[std::min(index, waited.size() - 1)])
        .count();
  };
  std::printf("%-24s median %8.1f us   99 %% %8.1f us\n", what, at(0.5), at(0.99));
}

void measure(const char* what, int rounds, duration computes, duration rests) {
  worker_pool pool({.workers = 2, .blocking_threshold = 10ms}, task::turn);
  std::vector<duration> waited;
  time_point woken{};
  std::binary_semaphore both{0};
  task receiver(pool, [&] {
    waited.push_back(clock::now() - woken);
    both.release();
  });
  std::binary_semaphore over{0};
  task sender(pool, [&] {
    woken = clock::now();
    receiver.poke();
    while (clock::now() - woken < computes) {
    }
    over.release();
  });
  for (int i = 0; i < rounds; ++i) {
    sender.poke();
    both.acquire();
    over.acquire();
    if (rests != duration::zero()) std::this_thread::sleep_for(rests);
  }
  report(what, std::move(waited));
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  measure("after a rest", smoke ? 3 : 300, 8ms, 5ms);
  measure("one after the other", smoke ? 3 : 300, 8ms, duration::zero());
}
