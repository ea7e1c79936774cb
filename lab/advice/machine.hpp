// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace troupe::lab {

/// What a runtime's settings depend on, as measured here and now. Medians, in nanoseconds.
struct machine {
  unsigned cores;  ///< that this process may use
  std::optional<double>
      line_ns;            ///< until a cache line is with the other core; nothing with one core
  double wake_up_ns;      ///< from the wake-up of a sleeping thread until it runs
  double short_sleep_ns;  ///< what a sleep of 1,000 ns takes
  double clock_ns;        ///< a look at the clock
};

/// Cost: about a quarter of a second.
machine look_at_machine();

}  // namespace troupe::lab
