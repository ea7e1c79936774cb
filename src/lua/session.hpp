// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <troupe/http/websocket.hpp>
#include <troupe/troupe.hpp>

#include "application_state.hpp"
#include "messages.hpp"

namespace troupe::lua::detail {

/// The actor of one connection to an application. It forwards the client's messages to the instance
/// of the connection. When the mailbox of the instance is full, this actor is suspended, which
/// applies backpressure to the client.
class session : public actor {
 public:
  session(http::websocket client, std::shared_ptr<application_core> of);
  ~session();

  void on(http::text&& m);
  void on(http::binary&& m);
  void on(http::closed&& m);

 private:
  void say(client_said&& m);

  const std::shared_ptr<application_core> core_;
  const unsigned number_;
  const ref<instance> to_;
  const std::uint64_t id_;
  const http::websocket client_;
};

}  // namespace troupe::lua::detail
