// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace troupe::http {

/// What a server has done since it was made. Each number is exact; two of them may be from slightly
/// different moments.
struct statistics {
  std::uint64_t connections = 0;   // at the moment, WebSockets included
  std::uint64_t websockets = 0;    // at the moment
  std::uint64_t held_back = 0;     // of these, not read until their sessions have caught up
  std::uint64_t accepted = 0;      // connections ever
  std::uint64_t upgraded = 0;      // WebSockets ever
  std::uint64_t requests = 0;      // answered by a route, a file or an error
  std::uint64_t messages_in = 0;   // handed to sessions
  std::uint64_t messages_out = 0;  // written for sessions
  std::uint64_t bytes_in = 0;      // read from sockets; of what is secured, the plaintext
  std::uint64_t bytes_out = 0;     // taken by sockets; likewise

  std::uint64_t refused_full = 0;         // connections_max
  std::uint64_t refused_per_address = 0;  // connections_per_address_max
  std::uint64_t refused_origin = 0;       // 403
  std::uint64_t malformed_requests = 0;   // 400
  std::uint64_t headers_too_large = 0;    // 431
  std::uint64_t bodies_too_large = 0;     // 413
  std::uint64_t requests_timed_out = 0;   // handshake_time and request_time
  std::uint64_t idle_closed = 0;          // idle_time
  std::uint64_t messages_too_large = 0;   // 1009
  std::uint64_t protocol_errors = 0;      // 1002 and 1007
  std::uint64_t slow_readers_closed = 0;  // send_queue_bytes
  std::uint64_t receive_pauses = 0;       // receive_window
  std::uint64_t mailbox_pauses = 0;       // the session's mailbox was full
  std::uint64_t refusal_pauses = 0;       // a budget, or the mailbox, did not let a message in
  std::uint64_t close_timed_out = 0;      // close_time
  std::uint64_t accept_pauses = 0;        // out of descriptors or memory
  std::uint64_t handler_failures = 0;     // exceptions out of route handlers, unusable responses

  std::uint64_t tls_handshakes = 0;  // that were made whole
  std::uint64_t tls_resumed = 0;     // that a ticket has made short
  // Handshakes that have failed, because of
  std::uint64_t tls_plain_text = 0;  // HTTP instead of TLS
  std::uint64_t tls_version = 0;     // a client that speaks older versions only
  std::uint64_t tls_alerts =
      0;  // a client that said no: it does not trust the certificate, for one
  std::uint64_t tls_failed = 0;     // anything else in what the client sent
  std::uint64_t tls_gone = 0;       // a client that was gone before the end
  std::uint64_t tls_cut = 0;        // this side: handshake_time, a drain, a stop
  std::uint64_t tls_truncated = 0;  // secured connections that ended without TLS's word for it
};

}  // namespace troupe::http
