// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lab/frame/experiment.hpp"

// The servers of others, which are programs of their own.

namespace troupe::lab::websocket {

/// Whether an engine of the experiment takes part. Builds its program if it may; else it has to be there.
presence look_for(std::string_view engine, bool may_build);

/// The program of gorilla/ or tungstenite/.
std::string program_of(std::string_view engine);

}  // namespace troupe::lab::websocket
