// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include "lab/frame/trial.hpp"

namespace troupe::lab {

/// The processor's counter: its time-stamp counter, or the virtual counter of AArch64; elsewhere nanoseconds.
/// It counts at a rate of its own, not that of a core that sleeps or hurries.
///
/// Threads: any.
/// Cost:    about 20 cycles. It waits for nothing: what is measured takes hundreds of them.
inline std::uint64_t cycles() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t now = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Of that counter in a microsecond, that is, in MHz; against the steady clock, which takes 20 ms the first time.
inline double cycles_per_us() {
  static const double rate = [] {
    using clock = std::chrono::steady_clock;
    const auto began = clock::now();
    const std::uint64_t first = cycles();
    while (clock::now() - began < std::chrono::milliseconds(20)) {
    }
    const std::uint64_t last = cycles();
    return static_cast<double>(last - first) /
           std::chrono::duration<double, std::micro>(clock::now() - began).count();
  }();
  return rate;
}

/// Says how fast it counts beside the figures that are in cycles.
inline void report_counter(trial& to) { to.report("counter", "MHz", cycles_per_us()); }

}  // namespace troupe::lab
