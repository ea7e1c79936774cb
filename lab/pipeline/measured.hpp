// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lab/frame/trial.hpp"
#include "lab/pipeline/requests.hpp"

namespace troupe::lab::pipeline {

/// The result of processing the requests.
struct processed {
  std::uint64_t sum = 0;      ///< of all results
  unsigned threads_most = 1;  ///< that served requests at the same time
  /// The share of the CPU time that went into creating, starting and ending threads; 0: unknown.
  double threads_share = 0;
};

/// One run: half of the calibration, `process`, the other half, so that the bound is of the same
/// time. Reports rate, share_of_bound, the bounds, and the operating system's figures of `process`.
///
/// Errors: std::runtime_error if the control sum differs.
void measure(trial& t, processed (*process)(const trial& t, const requests& all));

}  // namespace troupe::lab::pipeline
