// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace troupe::http {

/// Counters of a server since its creation. Each number is exact; two of them may be from slightly
/// different moments.
struct statistics {
  std::uint64_t connections = 0;         // now, WebSockets included
  std::uint64_t websockets = 0;          // now
  std::uint64_t held_back = 0;           // WebSockets not read until their sessions have caught up
  std::uint64_t accepted = 0;            // connections ever accepted
  std::uint64_t upgraded = 0;            // WebSockets ever opened
  std::uint64_t requests = 0;            // answered by a route, a file or an error
  std::uint64_t messages_in = 0;         // passed to sessions
  std::uint64_t messages_out = 0;        // written for sessions
  std::uint64_t request_body_bytes = 0;  // now, limited by request_bodies_bytes
  std::uint64_t upgrade_request_bytes = 0;  // now, limited by upgrade_requests_bytes
  std::uint64_t bytes_in = 0;               // read from sockets; with TLS, the plaintext
  std::uint64_t bytes_out = 0;              // written to sockets; with TLS, the plaintext

  std::uint64_t refused_full = 0;           // connections_max
  std::uint64_t refused_per_address = 0;    // connections_per_address_max
  std::uint64_t refused_origin = 0;         // 403
  std::uint64_t refused_host = 0;           // check_host: 421
  std::uint64_t malformed_requests = 0;     // 400, and 501 and 505 for optional features
  std::uint64_t headers_too_large = 0;      // 414 and 431
  std::uint64_t bodies_too_large = 0;       // 413
  std::uint64_t bodies_refused = 0;         // request_bodies_bytes: 503
  std::uint64_t upgrades_refused = 0;       // upgrade_requests_bytes: 503
  std::uint64_t requests_timed_out = 0;     // handshake_timeout and request_timeout
  std::uint64_t idle_closed = 0;            // idle_timeout
  std::uint64_t messages_too_large = 0;     // 1009
  std::uint64_t messages_without_room = 0;  // partial_messages_bytes: 1013
  std::uint64_t protocol_errors = 0;        // 1002 and 1007
  std::uint64_t slow_readers_closed = 0;    // send_queue_bytes
  std::uint64_t receive_pauses = 0;         // receive_window
  std::uint64_t mailbox_pauses = 0;         // the session's mailbox was full
  std::uint64_t refusal_pauses = 0;         // a budget or the mailbox refused a message
  std::uint64_t close_timed_out = 0;        // close_timeout
  std::uint64_t accept_pauses = 0;          // out of descriptors or memory
  std::uint64_t handler_failures = 0;       // exceptions out of route handlers, unusable responses
  // Requests whose handler is a coroutine:
  std::uint64_t handlers = 0;            // now
  std::uint64_t handlers_timed_out = 0;  // handler_timeout or route_options::timeout: 503
  std::uint64_t handlers_cancelled = 0;  // the client disconnected before the response

  // Events beyond a rate of a client address:
  std::uint64_t rate_connections = 0;        // connections_per_second: closed
  std::uint64_t rate_tls_handshakes = 0;     // tls_handshakes_per_second: closed
  std::uint64_t rate_requests = 0;           // requests_per_second: 429
  std::uint64_t rate_messages = 0;           // messages_per_second: pauses
  std::uint64_t rate_received_bytes = 0;     // received_bytes_per_second: pauses
  std::uint64_t message_floods = 0;          // throttled_messages_max: 1008
  std::uint64_t throttled_disconnects = 0;   // WebSockets that disconnected during a pause
  std::uint64_t rate_addresses = 0;          // now, limited by rate_addresses_max
  std::uint64_t rate_addresses_evicted = 0;  // forgotten because of that limit

  std::uint64_t tls_handshakes = 0;  // completed
  std::uint64_t tls_resumed = 0;     // shortened by a session ticket
  // Failed handshakes, by cause:
  std::uint64_t tls_plain_text = 0;  // HTTP instead of TLS
  std::uint64_t tls_version = 0;     // the client supports only older versions
  std::uint64_t tls_alerts = 0;      // rejected by the client, for example its certificate check
  std::uint64_t tls_failed = 0;      // other invalid data from the client
  std::uint64_t tls_gone = 0;        // the client disconnected
  std::uint64_t tls_cut = 0;         // aborted by this side: handshake_timeout, drain or stop
  std::uint64_t tls_truncated = 0;   // connections that ended without TLS's close_notify
};

}  // namespace troupe::http
