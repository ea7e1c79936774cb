// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/detail/sync/atomic.hpp>
#include <troupe/http/statistics.hpp>

namespace troupe::http::detail {

/// A statistic that several threads change. No decision depends on it.
///
/// Threads: any.
class counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.fetch_add(n, relaxed);  // [tally] relaxed: a statistic publishes nothing
  }
  void subtract(std::uint64_t n = 1) noexcept {
    value_.fetch_sub(n, relaxed);  // [tally]
  }
  [[nodiscard]] std::uint64_t value() const noexcept {
    return value_.load(relaxed);  // [tally]
  }

 private:
  atomic<std::uint64_t> value_{0};
};

/// The results of TLS handshakes and connections.
struct tls_tally {
  counter whole, resumed, plain_text, version, alert, other, gone, cut, truncated, over_rate;
};

/// The counters behind http::statistics.
struct tally {
  counter connections, websockets, held_back;
  counter accepted, upgraded, requests, messages_in, messages_out, bytes_in, bytes_out;
  counter refused_full, refused_per_address, refused_origin, refused_host, malformed_requests;
  counter headers_too_large, bodies_too_large, bodies_refused, upgrades_refused, requests_timed_out,
      idle_closed, messages_too_large, messages_without_room, protocol_errors;
  counter slow_readers_closed, receive_pauses, mailbox_pauses, refusal_pauses;
  counter close_timed_out, accept_pauses, handler_failures;
  counter handlers, handlers_timed_out, handlers_cancelled;
  counter rate_connections, rate_requests, rate_messages, rate_received_bytes, message_floods;
  counter throttled_disconnects;
  tls_tally tls;

  [[nodiscard]] statistics snapshot() const noexcept;
};

}  // namespace troupe::http::detail
