// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/frame/run.hpp"
#include "lab/peers/engines.hpp"

namespace troupe::lab {

/// Returns the experiments that other engines run too.
std::vector<std::string> peer_workloads();

/// Returns "troupe" and the names of the others.
std::vector<std::string> engine_names();

/// Runs the workloads on all available engines, in one run with the engines interleaved. For one
/// workload it prints tables, for several one Markdown table of all of them. Returns the exit
/// status of the program: 1 if a run failed. An engine that is not available is named and left out.
int run_peers(const std::vector<std::string>& workloads, const sizes& given,
              const run_options& options, const engine_folders& folders);

}  // namespace troupe::lab
