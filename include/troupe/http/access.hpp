// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace troupe::http {

/// One answered request, or one closed WebSocket, for access logs. Its views are valid until the
/// callback returns.
struct access {
  enum class kind : std::uint8_t { request, websocket };

  kind what = kind::request;
  std::string_view peer = {};    // the client's address, as request::peer()
  std::string_view method = {};  // empty if no valid request was received
  std::string_view target = {};  // as sent, with its query
  /// For a request: the status of its response, 101 if it became a WebSocket. For a WebSocket: its
  /// close code.
  unsigned status = 0;
  /// For a request: the bytes of its response, head included. For a WebSocket: the bytes of the
  /// messages passed to its session.
  std::uint64_t bytes = 0;
  /// For a request: from its first byte to the last byte of its response. For a WebSocket: from the
  /// creation of the session to the end.
  std::chrono::nanoseconds took{};
};

}  // namespace troupe::http
