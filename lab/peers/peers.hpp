// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/frame/run.hpp"
#include "lab/peers/engines.hpp"

namespace troupe::lab {

/// The experiments that other engines run too.
std::vector<std::string> peer_workloads();

/// "troupe", and the others.
std::vector<std::string> engine_names();

/// Runs the workloads on all engines that are there, in one run with the engines interleaved. For one
/// workload it prints tables, for several one table of Markdown with all of them. Returns what the
/// program exits with: 1 if a run failed; an engine that is not there is named and left out.
int run_peers(const std::vector<std::string>& workloads, const sizes& given,
              const run_options& options, const engine_folders& folders);

}  // namespace troupe::lab
