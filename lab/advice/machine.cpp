// SPDX-License-Identifier: Apache-2.0
#include "lab/advice/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <troupe/base/cache_line.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/thread.hpp>

#include "lab/frame/host.hpp"
#include "lab/waiting/sample.hpp"

namespace troupe::lab {

namespace {

using clock = std::chrono::steady_clock;

double ns_since(clock::time_point began) {
  return std::chrono::duration<double, std::nano>(clock::now() - began).count();
}

// Times many round trips, several times. Returns half of the median.
template <class There, class Back>
double half_a_round_trip(std::uint64_t samples, std::uint64_t trips, There&& there, Back&& back) {
  sample took;
  const jthread other([&] {
    for (std::uint64_t i = 1; i <= samples * trips; ++i) back(i);
  });
  for (std::uint64_t s = 0; s < samples; ++s) {
    const auto began = clock::now();
    for (std::uint64_t i = 1; i <= trips; ++i) there(s * trips + i);
    took.add(ns_since(began) / static_cast<double>(2 * trips));
  }
  return took.percentile(0.5);
}

double line_ns() {
  alignas(cache_line_bytes) atomic<std::uint64_t> ball{0};
  const auto until = [&](std::uint64_t value) {
    // [ball] relaxed: only the transfer of the cache line matters. The core is yielded in case
    // another thread needs it.
    for (unsigned tries = 1; ball.load(relaxed) != value; ++tries) {
      if (tries % 65'536 == 0) std::this_thread::yield();
    }
  };
  return half_a_round_trip(
      51, 1'000,
      [&](std::uint64_t i) {
        ball.store(2 * i - 1, relaxed);  // [ball]
        until(2 * i);
      },
      [&](std::uint64_t i) {
        until(2 * i - 1);
        ball.store(2 * i, relaxed);  // [ball]
      });
}

double wake_up_ns() {
  parker here;
  parker there;
  return half_a_round_trip(
      51, 20,
      [&](std::uint64_t) {
        there.notify();
        here.park();
      },
      [&](std::uint64_t) {
        there.park();
        here.notify();
      });
}

template <class What>
double median_ns(std::size_t samples, std::size_t times, What&& what) {
  sample took;
  for (std::size_t s = 0; s < samples; ++s) {
    const auto began = clock::now();
    for (std::size_t i = 0; i < times; ++i) what();
    took.add(ns_since(began) / static_cast<double>(times));
  }
  return took.percentile(0.5);
}

}  // namespace

machine look_at_machine() {
  machine found{};
  found.cores = look_at_host().cores;
  if (found.cores > 1) found.line_ns = line_ns();
  found.wake_up_ns = wake_up_ns();
  found.short_sleep_ns =
      median_ns(101, 10, [] { std::this_thread::sleep_for(std::chrono::microseconds(1)); });
  found.clock_ns = median_ns(51, 1'000, [] { (void)clock::now(); });
  return found;
}

}  // namespace troupe::lab
