// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace troupe {

/// The one clock that deadlines are measured on. On Linux it is CLOCK_MONOTONIC, which the futex
/// of the sync layer relies on.
using clock = std::chrono::steady_clock;
using time_point = clock::time_point;
using duration = clock::duration;

/// That long after `from`; the end of time if it is beyond.
[[nodiscard]] constexpr time_point later(time_point from, duration by) noexcept {
  return by < time_point::max() - from ? from + by : time_point::max();
}

}  // namespace troupe
