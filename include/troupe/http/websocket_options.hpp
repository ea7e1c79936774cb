// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <troupe/troupe.hpp>

namespace troupe::http {

/// How the WebSockets of one path are served.
struct websocket_options {
  /// Spawn options for each session.
  spawn_options spawn{};

  /// The subprotocols that the sessions understand (RFC 6455, 1.9), as written in
  /// Sec-WebSocket-Protocol: "chat.v2". The server selects the first of the client's offers that is
  /// in this list; websocket::protocol() returns it.
  std::vector<std::string> protocols{};
  /// Answers a client that offers none of them with 400, which lists them. Otherwise the client is
  /// served without a subprotocol; a browser that has offered some then fails the connection
  /// itself.
  bool require_protocol = false;

  /// The headers that websocket::upgrade_request() keeps; all of them if not set. The request stays
  /// in memory as long as the connection, and counts towards limits::upgrade_requests_bytes. A
  /// session that reads only a few headers should list them here.
  std::optional<std::vector<std::string>> kept_headers{};
};

}  // namespace troupe::http
