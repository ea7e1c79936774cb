// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <troupe/troupe.hpp>

namespace troupe::http {

/// How the WebSockets of one path are served.
struct websocket_options {
  /// Each session is spawned with these.
  spawn_options spawn{};

  /// The subprotocols that the sessions understand (RFC 6455, 1.9), as they are written in
  /// Sec-WebSocket-Protocol: "chat.v2". The first of a client's offers that is among them is answered,
  /// and told by websocket::protocol().
  std::vector<std::string> protocols{};
  /// A client that offers none of them is answered with 400, which names them. Otherwise it is served
  /// without one; a browser that had offered some then fails the connection itself.
  bool require_protocol = false;
};

}  // namespace troupe::http
