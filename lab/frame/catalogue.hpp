// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "lab/frame/experiment.hpp"

namespace troupe::lab {

struct catalogue_entry {
  std::string_view name;
  experiment what;
};

/// Returns all experiments. CMake generates this function from the names of the files in
/// lab/experiments.
const std::vector<catalogue_entry>& catalogue();

/// Returns null if the name is unknown.
const catalogue_entry* find_experiment(std::string_view name);

/// `troupe lab peers` is not an experiment, but has a name and texts like one.
inline constexpr std::string_view peers_name = "peers";
inline constexpr std::string_view peers_asks =
    "How do other engines perform with the same workloads in the same run?";
inline constexpr std::string_view peers_means =
    "Compare the ratios within a workload: the engines ran alternately, so that other load on the "
    "host affected all of them. Choose by the workload that resembles yours; where two ranges "
    "overlap, the difference is not significant. The floor is not an engine, but a sketch of the "
    "minimum work.";

}  // namespace troupe::lab
