// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/scheduler/tuning.hpp>

namespace troupe {

/// A separate pool of workers for the actors that are spawned with this name; see
/// system_options::dispatchers.
///
/// Actors of one dispatcher neither wait for a worker of another dispatcher nor occupy one.
struct dispatcher_options {
  std::string name = {};  // "pool" is the system's own

  unsigned workers =
      0;  // 0: one for each of `cpus`; if that is empty, one for each core that the program may use

  /// Its threads run on these CPUs only; empty: on any CPU. If there are as many CPUs as workers,
  /// each worker stays on one CPU.
  std::vector<unsigned> cpus = {};
  /// Niceness, added to that of the thread that makes the system, as by nice(1). With a positive
  /// value its threads yield the cores to others; a negative value requires a capability
  /// (CAP_SYS_NICE).
  ///
  /// As everywhere on Linux, threads that a handler starts inherit both, including those of actors
  /// with `own_thread`.
  int niceness = 0;

  // As in system_options.
  duration blocking_threshold = std::chrono::milliseconds(10);
  unsigned max_threads = 512;
  unsigned turn_messages = detail::tuning::turn_messages;
  unsigned spin_rounds = detail::tuning::spin_rounds;
};

}  // namespace troupe
