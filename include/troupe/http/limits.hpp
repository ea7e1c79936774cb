// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace troupe::http {

/// Limits that a server enforces on its clients. Only rates, the limits per second, can be
/// unlimited. Each violation is counted in http::statistics.
struct limits {
  /// Request line and headers together; more is answered with 431, or with 414 if the request line
  /// alone is larger. Chunk extensions and trailers of a body have the same limit.
  std::size_t header_bytes = 16 * 1024;
  /// A request's body; more is answered with 413. A body is read only if a route handler needs it.
  std::size_t body_bytes = 1024 * 1024;
  /// Memory for all request bodies that are being read or handled; more is answered with 503. If
  /// body_bytes is larger, it is used instead.
  std::size_t request_bodies_bytes = 64 * 1024 * 1024;
  /// A WebSocket message, all its fragments together; more closes with 1009.
  std::size_t message_bytes = 64 * 1024;
  /// The text of server::metrics(). Metric families beyond it are omitted, and the text counts
  /// them as troupe_metrics_omitted_families.
  std::size_t metrics_bytes = 4 * 1024 * 1024;

  /// Simultaneous connections; one more is answered with 503.
  std::size_t connections_max = 10'000;
  /// Simultaneous connections from one address; one more is answered with 503. The default is a
  /// quarter of connections_max.
  std::size_t connections_per_address_max = 2'500;

  /// The time limit from the start of the connection to the end of the first request's headers, and
  /// from a WebSocket request to its response. Exceeding it is answered with 408.
  std::chrono::milliseconds handshake_timeout{10'000};
  /// The time limit from the first byte of a request to its last; a slower request is answered with
  /// 408. The same limit applies from the first byte of a WebSocket message to its last; a slower
  /// message closes the connection with 1008.
  std::chrono::milliseconds request_timeout{30'000};
  /// The time limit for a handler that is a coroutine, from the last byte of the request to the
  /// handler's response. Afterwards the coroutine is destroyed, and the response is 503. See
  /// route_options.
  std::chrono::milliseconds handler_timeout{30'000};
  /// The time limit for a connection without any progress. A WebSocket client is pinged after half
  /// of it, and closed with 1008 if it takes longer than this to read 64 KiB.
  std::chrono::milliseconds idle_timeout{60'000};
  /// The minimum rate at which a client must read a response, averaged over idle_timeout. The
  /// connections of slower clients are reset.
  std::size_t read_bytes_per_second = 1024;
  /// How long a client may take to read the final bytes and close its side. Then the socket is
  /// reset. After a client has violated the WebSocket protocol, the session has the same time to
  /// reply to the messages before the violation.
  std::chrono::milliseconds close_timeout{5'000};
  /// The deadline of a drain that a signal has started.
  std::chrono::milliseconds drain_timeout{10'000};

  /// Bytes that the session has sent and the socket has not yet accepted. If there are more, the
  /// client reads too slowly, and the connection is closed with 1008.
  std::size_t send_queue_bytes = 1024 * 1024;
  /// Bytes that sessions have sent and sockets have not yet accepted, for all WebSockets together.
  /// The first 16 KiB of each are not counted, so slow clients do not cause the connection of a
  /// fast client to be closed. A WebSocket that exceeds the limit is closed with 1008.
  std::size_t send_queues_bytes = 256 * 1024 * 1024;
  /// Messages that have arrived in part or wait for room in their session's mailbox, for all
  /// WebSockets together. The first 4 KiB of each are not counted. A WebSocket that exceeds the
  /// limit is closed with 1013.
  std::size_t partial_messages_bytes = 256 * 1024 * 1024;
  /// Bytes of the requests that have opened WebSockets, for all WebSockets together. A request is
  /// kept as long as its connection (websocket::upgrade_request()). The first 2 KiB of each are not
  /// counted. A WebSocket that would exceed the limit is refused with 503.
  std::size_t upgrade_requests_bytes = 64 * 1024 * 1024;
  /// The number of messages that the session has not handled yet at which the socket is no longer
  /// read. The socket is also not read while the session's mailbox is full or a memory budget is
  /// exhausted.
  std::size_t receive_window = 16;

  // Rates of each client address: an IPv4 address, or an IPv6 network of 64 bits. An address that
  // has been below its rate may exceed it by a burst. A rate of 0 means no limit, a burst of 0 as
  // many as in one second. The addresses of trusted proxies have no limit for connections and
  // handshakes.

  /// Accepted connections; one more is closed at once.
  std::uint64_t connections_per_second = 0;
  std::uint64_t connections_burst = 0;
  /// TLS handshakes whose first bytes have arrived; one more is closed without a response. The
  /// default lets all clients of one address reconnect at once, as many as
  /// connections_per_address_max allows, and keeps one address from using most of a core.
  std::uint64_t tls_handshakes_per_second = 250;
  std::uint64_t tls_handshakes_burst = 2'500;
  /// Requests whose headers have arrived, those of WebSockets included; one more is answered with
  /// 429 and Retry-After.
  std::uint64_t requests_per_second = 0;
  std::uint64_t requests_burst = 0;
  /// WebSocket messages and pings. After one more, the connection is not read until the rate
  /// permits it.
  std::uint64_t messages_per_second = 0;
  std::uint64_t messages_burst = 0;
  /// The maximum number of consecutive messages of a connection that exceed the rate; one more
  /// closes with 1008.
  std::uint64_t throttled_messages_max = 1'000;
  /// Bytes of requests and messages; with TLS, of the plaintext. If a client sends more, its
  /// connection is not read until the rate permits it. The pauses count towards the timeouts of
  /// requests and messages.
  std::uint64_t received_bytes_per_second = 0;
  std::uint64_t received_bytes_burst = 0;

  /// The maximum number of addresses that have recently used up part of a rate. If there are more,
  /// the address that was idle for the longest time is forgotten.
  std::size_t rate_addresses_max = 100'000;
  /// The limit for the memory of these addresses, in bytes.
  std::size_t rate_addresses_bytes = 16 * 1024 * 1024;
};

}  // namespace troupe::http
