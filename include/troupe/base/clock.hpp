// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <troupe/detail/base/thread_host.hpp>

namespace troupe {

/// The clock for all deadlines: std::chrono::steady_clock, whose time points it uses. On Linux that
/// is CLOCK_MONOTONIC, which the futex functions of the sync layer require. On the thread of a
/// simulation it is simulated time.
struct clock {
  using time_point = std::chrono::steady_clock::time_point;
  using duration = time_point::duration;
  using rep = duration::rep;
  using period = duration::period;
  static constexpr bool is_steady = true;

  [[nodiscard]] static time_point now() noexcept {
    if (const detail::thread_host* const host = detail::thread_host::here()) [[unlikely]] {
      return host->now();
    }
    return std::chrono::steady_clock::now();
  }
};
/// The clock for dates that people read: std::chrono::system_clock. In a simulation it begins on 2
/// January 1970, and advances like `clock`. Deadlines use `clock`.
struct wall_clock {
  using time_point = std::chrono::system_clock::time_point;
  using duration = time_point::duration;
  using rep = duration::rep;
  using period = duration::period;
  static constexpr bool is_steady = false;

  [[nodiscard]] static time_point now() noexcept {
    if (const detail::thread_host* const host = detail::thread_host::here()) [[unlikely]] {
      return time_point(std::chrono::duration_cast<duration>(host->now().time_since_epoch()));
    }
    return std::chrono::system_clock::now();
  }
};

using time_point = clock::time_point;
using duration = clock::duration;

/// Returns the time point `by` after `from`, or time_point::max() if the sum would exceed it.
[[nodiscard]] constexpr time_point later(time_point from, duration by) noexcept {
  return by < time_point::max() - from ? from + by : time_point::max();
}

}  // namespace troupe
