// SPDX-License-Identifier: Apache-2.0
#include "member.hpp"

#include <utility>
#include <variant>

namespace chat {

void member::on(troupe::http::text m) {
  try {
    std::visit([&](auto&& r) { handle(std::move(r), std::move(m)); }, parse(m.data));
  } catch (const bad_request& e) {
    client_.send(error(e.what()));
  }
}

void member::handle(join_request r, troupe::http::text) {
  if (room_) throw bad_request("you are in a room already: leave it before you join another");
  if (joining_) throw bad_request("you are already joining a room");
  joining_ = true;
  lobby_.send(find_room{std::move(r.room), {std::move(r.name), client_, self(this)}});
}

void member::handle(say_request r, troupe::http::text origin) {
  if (!room_) throw bad_request("join a room before you say something");
  room_.send(say{std::move(r.text), std::move(origin)});
}

void member::handle(leave_request, troupe::http::text) {
  if (!room_) throw bad_request("you are not in a room: join one before you leave it");
  std::exchange(room_, {}).send(leave{});
  client_.send(left_room());
}

}  // namespace chat
