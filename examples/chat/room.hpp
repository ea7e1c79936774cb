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

/// To a member: you are in.
struct entered {
  troupe::ref<room> where;
};
/// To a member: you are not.
struct turned_away {
  std::string reason;
};

/// To a room: let somebody in.
struct enter {
  std::string name;
  troupe::http::websocket client;
  troupe::recipient<entered, turned_away> member;
};

/// To a room: say this to everybody. The client's message travels along: the place that it takes in
/// its connection's window is free once the room has handled it, so who speaks faster than the room
/// can listen is slowed down, and nothing piles up.
struct say {
  std::string text;
  troupe::http::text origin;
};

/// To a room.
struct leave {};

/// A room: who is there, and what was said last. It tells the clients itself, in one order for all.
///
/// It lives while somebody is in it (members hold references to it), and for a while after that.
class room : public troupe::actor {
 public:
  explicit room(std::string name) : name_(std::move(name)) {}

  void on(enter m);
  void on(const say& m, troupe::address who);
  void on(leave, troupe::address who);
  void on(const troupe::down& m);  // a member whose connection is gone

 private:
  struct nobody_came {};

 public:
  void on(nobody_came) {}  // the timer alone kept the room

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

  std::vector<person> people_;  // in the order in which they came
  std::deque<message> history_;
  std::uint64_t next_id_ = 1;
  troupe::timer linger_;
};

}  // namespace chat
