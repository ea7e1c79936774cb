// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

#include <troupe/troupe.hpp>

#include "room.hpp"

namespace chat {

/// Asks the lobby to pass `what` on to the room of this name.
struct find_room {
  std::string room;
  enter what;
};

/// Finds rooms by name, and creates them on demand. It does not keep them alive.
class lobby : public troupe::actor {
 public:
  static constexpr std::size_t rooms_max = 10'000;

  void on(find_room m) {
    troupe::weak_ref<room>& known = rooms_[m.room];
    troupe::ref<room> there = known.lock();
    if (!there) {
      if (rooms_.size() > rooms_max) {
        rooms_.erase(m.room);
        m.what.member.send(turned_away{"the limit of rooms is reached; join an existing room"});
        return;
      }
      there = system().spawn<room>({.name = "room " + m.room}, m.room);
      known = there;
      watch(there);
      names_[there] = m.room;
    }
    there.send(std::move(m.what));
  }

  void on(const troupe::down& m) {
    const auto name = names_.extract(m.who);
    if (!name.empty() && rooms_[name.mapped()].address() == m.who) rooms_.erase(name.mapped());
  }

 private:
  std::map<std::string, troupe::weak_ref<room>> rooms_;
  std::map<troupe::address, std::string> names_;
};

}  // namespace chat
