// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace troupe::http {

/// How much a server takes from a client before it says no. None is «unlimited»: every one of them
/// is enforced, and counted in http::statistics when it is.
struct limits {
  /// Request line and headers together; more is answered with 431.
  std::size_t header_bytes = 8 * 1024;
  /// A request's body; more is answered with 413.
  std::size_t body_bytes = 1024 * 1024;
  /// A WebSocket message, all its fragments together; more closes with 1009.
  std::size_t message_bytes = 64 * 1024;

  /// Connections at once; one more is answered with 503.
  std::size_t connections_max = 10'000;
  /// Of these, from one address; one more is answered with 503. A quarter of the whole.
  std::size_t connections_per_address_max = 2'500;

  /// From the connection's beginning to the end of its first request's headers, and from a
  /// WebSocket request to the answer to it. Then 408.
  std::chrono::milliseconds handshake_time{10'000};
  /// From a request's first byte to its last. Then 408.
  std::chrono::milliseconds request_time{30'000};
  /// Nothing moved on the connection. A WebSocket client is pinged at half of it.
  std::chrono::milliseconds idle_time{60'000};
  /// For a client to read the last words and to close as well. Then the socket is reset.
  std::chrono::milliseconds close_time{5'000};
  /// The deadline of a drain that a signal began.
  std::chrono::milliseconds drain_time{10'000};

  /// Sent by the session and not yet by the socket. A reader slower than that is closed with 1008.
  std::size_t send_queue_bytes = 1024 * 1024;
  /// Messages that the session has not handled yet. With that many, the socket is not read; nor while
  /// the session's mailbox is full or a budget has no room.
  std::size_t receive_window = 16;
};

}  // namespace troupe::http
