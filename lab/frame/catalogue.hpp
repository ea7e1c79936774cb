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

/// All experiments: CMake writes this function from the names of the files in lab/experiments.
const std::vector<catalogue_entry>& catalogue();

/// Null if there is none of that name.
const catalogue_entry* find_experiment(std::string_view name);

}  // namespace troupe::lab
