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
  /// The status of the response to a request, 101 if it became a WebSocket; or the close code of a
  /// WebSocket.
  unsigned status = 0;
  /// The bytes of the response to a request, head included; or the bytes of the messages that a
  /// WebSocket has passed to its session.
  std::uint64_t bytes = 0;
  /// The duration of a request, from its first byte to the last byte of its response; or of a
  /// WebSocket, from the creation of the session to the end.
  std::chrono::nanoseconds took{};
};

}  // namespace troupe::http
