// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <troupe/base/thread_host.hpp>

namespace troupe {

/// The one clock that deadlines are measured on: std::chrono::steady_clock, whose time points it has. On
/// Linux that is CLOCK_MONOTONIC, which the futex of the sync layer relies on. On the thread of a
/// simulation it is that one's.
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
/// The date: std::chrono::system_clock. A simulation begins on the second of January 1970, and there it passes
/// as clock does. For what people read; deadlines are measured on clock.
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

/// That long after `from`; the end of time if it is beyond.
[[nodiscard]] constexpr time_point later(time_point from, duration by) noexcept {
  return by < time_point::max() - from ? from + by : time_point::max();
}

}  // namespace troupe
