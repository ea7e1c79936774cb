// SPDX-License-Identifier: Apache-2.0

#include "tally.hpp"

namespace troupe::http::detail {

statistics tally::snapshot() const noexcept {
  return {
      .connections = connections.value(),
      .websockets = websockets.value(),
      .held_back = held_back.value(),
      .accepted = accepted.value(),
      .upgraded = upgraded.value(),
      .requests = requests.value(),
      .messages_in = messages_in.value(),
      .messages_out = messages_out.value(),
      .bytes_in = bytes_in.value(),
      .bytes_out = bytes_out.value(),
      .refused_full = refused_full.value(),
      .refused_per_address = refused_per_address.value(),
      .refused_origin = refused_origin.value(),
      .refused_host = refused_host.value(),
      .malformed_requests = malformed_requests.value(),
      .headers_too_large = headers_too_large.value(),
      .bodies_too_large = bodies_too_large.value(),
      .bodies_refused = bodies_refused.value(),
      .upgrades_refused = upgrades_refused.value(),
      .requests_timed_out = requests_timed_out.value(),
      .idle_closed = idle_closed.value(),
      .messages_too_large = messages_too_large.value(),
      .messages_without_room = messages_without_room.value(),
      .protocol_errors = protocol_errors.value(),
      .slow_readers_closed = slow_readers_closed.value(),
      .receive_pauses = receive_pauses.value(),
      .mailbox_pauses = mailbox_pauses.value(),
      .refusal_pauses = refusal_pauses.value(),
      .close_timed_out = close_timed_out.value(),
      .accept_pauses = accept_pauses.value(),
      .handler_failures = handler_failures.value(),
      .handlers = handlers.value(),
      .handlers_timed_out = handlers_timed_out.value(),
      .handlers_cancelled = handlers_cancelled.value(),
      .rate_connections = rate_connections.value(),
      .rate_tls_handshakes = tls.over_rate.value(),
      .rate_requests = rate_requests.value(),
      .rate_messages = rate_messages.value(),
      .rate_received_bytes = rate_received_bytes.value(),
      .message_floods = message_floods.value(),
      .throttled_disconnects = throttled_disconnects.value(),
      .tls_handshakes = tls.whole.value(),
      .tls_resumed = tls.resumed.value(),
      .tls_plain_text = tls.plain_text.value(),
      .tls_version = tls.version.value(),
      .tls_alerts = tls.alert.value(),
      .tls_failed = tls.other.value(),
      .tls_gone = tls.gone.value(),
      .tls_cut = tls.cut.value(),
      .tls_truncated = tls.truncated.value(),
  };
}

}  // namespace troupe::http::detail
