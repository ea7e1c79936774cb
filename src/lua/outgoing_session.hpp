// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/http/websocket.hpp>
#include <troupe/troupe.hpp>

namespace troupe::lua::detail {

class instance;
struct connection_said;

/// The actor of one WebSocket that a script has connected: gives what the other end says to the instance. A full
/// mailbox of that one pauses it, and so holds the other end back.
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
