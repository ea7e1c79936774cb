// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/websocket/server_process.hpp"

// The servers that the processes of `troupe lab ws` run. Each sends a message back to its client,
// or, for a broadcast, to all clients. None of them returns.

namespace troupe::lab::websocket {

/// One thread, as an expert of Beast would write it for throughput: a plain socket, unfragmented
/// messages, and Beast's suggested time-outs with one timer for all clients.
void serve_with_beast(const server_setup& how, const announcement& ready);

/// One thread, with beast::tcp_stream, a timer for each client and Beast's default fragmentation,
/// as in Beast's own example of an asynchronous server.
void serve_with_beast_tcp_stream(const server_setup& how, const announcement& ready);

/// http::server with an actor for each client.
void serve_with_troupe(const server_setup& how, const announcement& ready);

/// Serves the example examples/lua/echo, and hall/main.lua.
void serve_with_lua(const server_setup& how, const announcement& ready);

}  // namespace troupe::lab::websocket
