// SPDX-License-Identifier: Apache-2.0

#include "outgoing_session.hpp"

#include <utility>

#include "instance.hpp"
#include "messages.hpp"
#include "send_with_retry.hpp"

namespace troupe::lua::detail {

outgoing_session::outgoing_session(http::websocket socket, ref<instance> to, std::uint64_t id)
    : to_(std::move(to)), id_(id), socket_(std::move(socket)) {
  send_with_retry(to_, connection_opened{.id = id_, .socket = socket_});
}

void outgoing_session::on(http::text&& m) {
  say({.id = id_, .is_text = true, .message = std::move(m)});
}

void outgoing_session::on(http::binary&& m) {
  say({.id = id_,
       .is_text = false,
       .message = {.data = std::move(m.data), .place = std::move(m.place)}});
}

// The instance's mailbox suspends this actor long before it is that full.
void outgoing_session::say(connection_said&& m) {
  if (to_.send(std::move(m)) == delivery::refused)
    socket_.close(1013, "too many messages are queued");
}

void outgoing_session::on(http::closed&& m) {
  send_with_retry(to_, connection_closed{.id = id_, .code = m.code, .reason = std::move(m.reason)});
}

}  // namespace troupe::lua::detail
