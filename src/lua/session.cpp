// SPDX-License-Identifier: Apache-2.0

#include "session.hpp"

#include <utility>

#include "instance.hpp"
#include "messages.hpp"

namespace troupe::lua::detail {

session::session(http::websocket client, std::shared_ptr<application_core> of)
    : core_(std::move(of)),
      number_(core_->instance_for(client.upgrade_request())),
      to_(core_->at(number_)),
      id_(core_->next_client()) {
  core_->counts(number_).assigned.add();
  to_.send(client_opened{.id = id_, .socket = std::move(client)});
}

session::~session() { core_->counts(number_).assigned.subtract(); }

void session::on(http::text&& m) {
  to_.send(client_said{.id = id_, .is_text = true, .message = std::move(m)});
}

void session::on(http::binary&& m) {
  to_.send(client_said{.id = id_,
                       .is_text = false,
                       .message = {.data = std::move(m.data), .place = std::move(m.place)}});
}

void session::on(http::closed&& m) {
  to_.send(client_closed{.id = id_, .code = m.code, .reason = std::move(m.reason)});
}

}  // namespace troupe::lua::detail
