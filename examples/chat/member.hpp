// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/http/http.hpp>
#include <troupe/troupe.hpp>

#include "lobby.hpp"
#include "protocol.hpp"
#include "room.hpp"

namespace chat {

/// One connection, and the person who uses it. The server creates it when a browser connects, and
/// drops its reference when the connection closes. The actor then terminates, and the room that
/// watches it is notified.
class member : public troupe::actor {
 public:
  member(troupe::http::websocket client, troupe::ref<lobby> lobby)
      : client_(std::move(client)), lobby_(std::move(lobby)) {}

  void on(troupe::http::text m);
  void on(entered m) {
    room_ = std::move(m.where);
    joining_ = false;
  }
  void on(const turned_away& m) {
    joining_ = false;
    client_.send(error(m.reason));
  }

 private:
  void handle(join_request r, troupe::http::text origin);
  void handle(say_request r, troupe::http::text origin);
  void handle(leave_request r, troupe::http::text origin);

  const troupe::http::websocket client_;
  const troupe::ref<lobby> lobby_;
  troupe::ref<room> room_;  // empty: in no room
  bool joining_ = false;
};

}  // namespace chat
