// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lab/frame/experiment.hpp"

// The servers of other projects, which are separate programs.

namespace troupe::lab::websocket {

/// Whether an engine of the experiment takes part. Builds its program if permitted; otherwise it
/// must exist.
presence look_for(std::string_view engine, bool may_build);

/// Returns the program of gorilla/ or tungstenite/.
std::string program_of(std::string_view engine);

}  // namespace troupe::lab::websocket
