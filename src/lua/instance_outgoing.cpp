// SPDX-License-Identifier: Apache-2.0

// Requests and connections from the scripts of an instance to other servers.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "instance.hpp"
#include "outgoing_session.hpp"
#include "push_fetched.hpp"

namespace troupe::lua::detail {

void instance::fetch(http::fetch what, std::uint64_t wait) {
  const std::size_t bytes = what.body.size();
  const std::size_t most = current().its_version()->limits.memory_bytes;
  if (bytes > most - std::min(most, fetching_bytes_)) {
    throw std::runtime_error("the bodies of open requests would have more than " +
                             std::to_string(most) + " bytes, which is limits.memory_bytes");
  }
  counts_.fetched.add();
  ask_future<http::fetched> asked = core_->client().ask<http::fetch>(no_timeout, std::move(what));
  fetching_bytes_ += bytes;
  std::move(asked).then([this, wait, bytes](ask_result<http::fetched> got) {
    fetching_bytes_ -= bytes;
    if (!got || !*got) counts_.outgoing_failures.add();
    programs_.resume(wait, [&](lua_State* in) { return push_fetched(in, got); });
    handled();
  });
}

void instance::connect(http::connect_websocket what, std::uint64_t connection) {
  const ref<instance> me = self(this);
  what.session = http::served_by<outgoing_session>(system(), me, connection);
  core_->client()
      .ask<http::connect_websocket>(no_timeout, std::move(what))
      .then([this, connection](ask_result<http::connected> got) {
        if (got && *got) return;  // its session has reported it
        counts_.outgoing_failures.add();
        if (program* const its = programs_.with_connection(connection)) {
          its->its_connections().not_opened(connection, why_not_connected(got));
        }
        handled();
      });
}

void instance::on(connection_opened&& m) {
  program* const its = programs_.with_connection(m.id);
  // No script waits for it any more: this is a new incarnation, or its version is gone.
  if (its == nullptr) return m.socket.close(1001, "the script that opened it is no longer running");
  its->its_connections().opened(m.id, std::move(m.socket));
  handled();
}

void instance::on(connection_said&& m) {
  if (program* const its = programs_.with_connection(m.id)) {
    its->its_connections().said(std::move(m));
  }
  handled();
}

void instance::on(connection_closed&& m) {
  if (program* const its = programs_.with_connection(m.id)) {
    its->its_connections().closed(std::move(m));
  }
  handled();
}

}  // namespace troupe::lua::detail
