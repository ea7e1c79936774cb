// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/http/websocket.hpp>
#include <troupe/troupe.hpp>

namespace troupe::lua::detail {

class instance;
struct connection_said;

/// The actor of one WebSocket that a script has connected. It forwards the messages of the other
/// end to the instance. When the mailbox of the instance is full, this actor is suspended, which
/// applies backpressure to the other end.
class outgoing_session : public actor {
 public:
  outgoing_session(http::websocket socket, ref<instance> to, std::uint64_t id);

  void on(http::text&& m);
  void on(http::binary&& m);
  void on(http::closed&& m);

 private:
  void say(connection_said&& m);

  const ref<instance> to_;
  const std::uint64_t id_;
  const http::websocket socket_;
};

}  // namespace troupe::lua::detail
