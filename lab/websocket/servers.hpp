// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/websocket/server_process.hpp"

// What the processes run that `troupe lab ws` measures: each sends back what it gets, or, where it is to broadcast, to
// all. None of them returns.

namespace troupe::lab::websocket {

/// One thread, as Beast's own example of an asynchronous server has it.
void serve_with_beast(const server_setup& how, const announcement& ready);

/// http::server with an actor for each client.
void serve_with_troupe(const server_setup& how, const announcement& ready);

/// The example examples/lua/echo, and hall/main.lua.
void serve_with_lua(const server_setup& how, const announcement& ready);

}  // namespace troupe::lab::websocket
