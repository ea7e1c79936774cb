// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include "lab/frame/trial.hpp"

namespace troupe::lab {

/// Returns the processor's counter: its time-stamp counter, or the virtual counter of AArch64;
/// elsewhere nanoseconds. It counts at a fixed rate, which does not depend on the frequency of the
/// core.
///
/// Threads: any.
/// Cost:    about 20 cycles. It does not serialise: the measured sections take hundreds of cycles.
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

/// Returns the counter's increments in a microsecond, that is, its MHz, measured against the steady
/// clock. The first call takes 20 ms.
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

/// Reports the counter's rate beside the figures that are in cycles.
inline void report_counter(trial& to) { to.report("counter", "MHz", cycles_per_us()); }

}  // namespace troupe::lab
