// SPDX-License-Identifier: Apache-2.0

#include "session.hpp"

#include <utility>

#include "instance.hpp"
#include "messages.hpp"
#include "send_with_retry.hpp"

namespace troupe::lua::detail {

session::session(http::websocket client, std::shared_ptr<application_core> of)
    : core_(std::move(of)),
      number_(core_->instance_for(client.upgrade_request())),
      to_(core_->at(number_)),
      id_(core_->next_client()),
      client_(std::move(client)) {
  core_->counts(number_).assigned.add();
  send_with_retry(to_, client_opened{.id = id_, .socket = client_});
}

session::~session() { core_->counts(number_).assigned.subtract(); }

void session::on(http::text&& m) { say({.id = id_, .is_text = true, .message = std::move(m)}); }

void session::on(http::binary&& m) {
  say({.id = id_,
       .is_text = false,
       .message = {.data = std::move(m.data), .place = std::move(m.place)}});
}

// The instance's mailbox suspends this actor long before it is that full.
void session::say(client_said&& m) {
  if (to_.send(std::move(m)) != delivery::refused) return;
  core_->counts(number_).overloaded.add();
  client_.close(1013, "too many messages are queued");
}

void session::on(http::closed&& m) {
  send_with_retry(to_, client_closed{.id = id_, .code = m.code, .reason = std::move(m.reason)});
}

}  // namespace troupe::lua::detail
