// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/scheduler/tuning.hpp>

namespace troupe {

/// Workers of their own for the actors that are spawned with this name; see system_options::dispatchers.
///
/// What runs here neither waits for a worker of another dispatcher nor takes one.
struct dispatcher_options {
  std::string name = {};  // «pool» is the system's own

  unsigned workers =
      0;  // 0: one for each of `cpus`; without these one for each core that the program may use

  /// Its threads run on these CPUs only; empty: on any. Where there are as many as workers, each worker stays on one.
  std::vector<unsigned> cpus = {};
  /// Added to that of the thread that makes the system, as by nice(1): with more than zero its threads leave the cores to
  /// others; less than zero takes a right (CAP_SYS_NICE).
  ///
  /// As everywhere on Linux, what a handler starts inherits both: threads, actors with `own_thread`.
  int niceness = 0;

  // As in system_options.
  duration stuck_after = std::chrono::milliseconds(10);
  unsigned max_threads = 512;
  unsigned turn_messages = detail::tuning::turn_messages;
  unsigned search_rounds = detail::tuning::search_rounds;
};

}  // namespace troupe
