// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <troupe/http/http.hpp>
#include <troupe/troupe.hpp>

#include "protocol.hpp"

namespace chat {

class room;

/// Tells a member that it has entered the room.
struct entered {
  troupe::ref<room> where;
};
/// Tells a member that it was refused.
struct turned_away {
  std::string reason;
};

/// Asks a room to admit a member.
struct enter {
  std::string name;
  troupe::http::websocket client;
  troupe::recipient<entered, turned_away> member;
};

/// Asks a room to send a text to all its members. The message includes the client's WebSocket
/// message, whose place in its connection's receive window is released only when the room has
/// handled it. So a client that sends faster than the room can handle is slowed down, and no queue
/// grows.
struct say {
  std::string text;
  troupe::http::text origin;
};

/// Tells a room that the sender leaves.
struct leave {};

/// A room: its members and recent messages. It sends directly to the clients, in one order for all.
///
/// It lives while it has members, which hold references to it, and for a while after that.
class room : public troupe::actor {
 public:
  explicit room(std::string name) : name_(std::move(name)) {}

  void on(enter m);
  void on(const say& m, troupe::address who);
  void on(leave, troupe::address who);
  void on(const troupe::down& m);  // a member whose connection has closed

 private:
  struct nobody_came {};

 public:
  void on(nobody_came) {}  // only the timer kept the room alive

 private:
  struct person {
    troupe::address who;
    std::string name;
    troupe::http::websocket client;
  };

  void tell_everybody(const event& e) const;
  void remove(troupe::address who);

  const std::string name_;
  [[nodiscard]] std::vector<person>::iterator find(const troupe::address& who);

  std::vector<person> people_;  // in the order of their arrival
  std::deque<message> history_;
  std::uint64_t next_id_ = 1;
  troupe::timer linger_;
};

}  // namespace chat
