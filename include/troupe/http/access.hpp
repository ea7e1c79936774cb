// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace troupe::http {

/// One request that has been answered, or one WebSocket that is over. Its views hold until the call that gets it has
/// returned.
struct access {
  enum class kind : std::uint8_t { request, websocket };

  kind what = kind::request;
  std::string_view peer = {};    // the address, without the port
  std::string_view method = {};  // empty for what has not become a request
  std::string_view target = {};  // as it was sent: with its query
  /// Of the answer; 101 for a request that has become a WebSocket. Of a WebSocket: the code that it was closed with.
  unsigned status = 0;
  /// Of the answer, its head included. Of a WebSocket: of the messages that its session was given.
  std::uint64_t bytes = 0;
  /// From the request's first byte to the answer's last; from the making of the session to the end.
  std::chrono::nanoseconds took{};
};

}  // namespace troupe::http
