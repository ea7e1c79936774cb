// SPDX-License-Identifier: Apache-2.0

#include "outgoing_session.hpp"

#include <utility>

#include "instance.hpp"
#include "messages.hpp"

namespace troupe::lua::detail {

outgoing_session::outgoing_session(http::websocket socket, ref<instance> to, std::uint64_t id)
    : to_(std::move(to)), id_(id) {
  to_.send(connection_opened{.id = id_, .socket = std::move(socket)});
}

void outgoing_session::on(http::text&& m) {
  to_.send(connection_said{.id = id_, .is_text = true, .message = std::move(m)});
}

void outgoing_session::on(http::binary&& m) {
  to_.send(connection_said{.id = id_,
                           .is_text = false,
                           .message = {.data = std::move(m.data), .place = std::move(m.place)}});
}

void outgoing_session::on(http::closed&& m) {
  to_.send(connection_closed{.id = id_, .code = m.code, .reason = std::move(m.reason)});
}

}  // namespace troupe::lua::detail
