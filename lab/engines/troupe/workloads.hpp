// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/frame/sizes.hpp"
#include "lab/frame/trial.hpp"

// The workloads that compare actor libraries, on Troupe. Each is one run: it measures from the
// first message to the last and reports `rate`, or `bytes_per_actor`.
namespace troupe::lab::workloads {

void pingpong(trial& t);
void pairs(trial& t);
void ring(trial& t);
void wall(trial& t);
void fanin_unbounded(trial& t);
void fanin_by_default(trial& t);
void fanin_bounded(trial& t);
void ask(trial& t);
void spawn(trial& t);
void idle(trial& t);

/// Runs a workload twice and reports the figures of the second run, as the programs of other
/// engines do.
template <void (*Run)(trial&)>
void second_run(trial& t) {
  trial first = t;
  Run(first);
  Run(t);
}

/// The size that all of them share.
inline constexpr size_option workers{"workers", "worker threads", 2, 2, 1, 1024};

}  // namespace troupe::lab::workloads
