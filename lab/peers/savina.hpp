// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/frame/experiment.hpp"

// The Savina programs of other engines: a second program in the folder of each engine.

namespace troupe::lab::savina {

/// Whether an engine of the experiment takes part. Builds its program if permitted; otherwise it
/// must exist.
presence look_for(std::string_view engine, bool may_build);

/// Returns the command that precedes the workload's name.
std::vector<std::string> command_of(std::string_view engine);

}  // namespace troupe::lab::savina
