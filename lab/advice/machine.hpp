// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace troupe::lab {

/// The properties of this host on which a runtime's settings depend, as measured now. Medians, in
/// nanoseconds.
struct machine {
  unsigned cores;  ///< available to this process
  std::optional<double>
      line_ns;            ///< until a cache line reaches the other core; nothing with one core
  double wake_up_ns;      ///< from the wake-up of a sleeping thread until it runs
  double short_sleep_ns;  ///< the duration of a sleep of 1,000 ns
  double clock_ns;        ///< reading the clock
};

/// Takes about a quarter of a second.
machine look_at_machine();

}  // namespace troupe::lab
