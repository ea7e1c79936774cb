// SPDX-License-Identifier: Apache-2.0

#include "rooms.hpp"

namespace troupe::lua::detail {

rooms::joined rooms::join(std::string_view room, std::uint64_t client) {
  auto& its = rooms_[client];
  if (its.contains(room)) return joined::was_in;
  if (its.size() >= rooms_max) return joined::too_many;
  members_[std::string(room)].insert(client);
  its.emplace(room);
  return joined::joined;
}

bool rooms::leave(std::string_view room, std::uint64_t client) {
  const auto its = rooms_.find(client);
  if (its == rooms_.end()) return false;
  const auto one = its->second.find(room);
  if (one == its->second.end()) return false;
  its->second.erase(one);
  if (its->second.empty()) rooms_.erase(its);

  const auto there = members_.find(room);
  there->second.erase(client);
  if (there->second.empty()) members_.erase(there);
  return true;
}

void rooms::leave_all(std::uint64_t client) {
  const auto its = rooms_.find(client);
  if (its == rooms_.end()) return;
  for (const std::string& room : its->second) {
    const auto there = members_.find(room);
    there->second.erase(client);
    if (there->second.empty()) members_.erase(there);
  }
  rooms_.erase(its);
}

bool rooms::has(std::string_view room, std::uint64_t client) const {
  const auto its = rooms_.find(client);
  return its != rooms_.end() && its->second.contains(room);
}

const std::set<std::uint64_t>* rooms::members(std::string_view room) const {
  const auto there = members_.find(room);
  return there == members_.end() ? nullptr : &there->second;
}

}  // namespace troupe::lua::detail
