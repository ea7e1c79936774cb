// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe::lua::detail {

/// The clients of one instance, by room. A room exists while it has a member.
///
/// Threads: the instance's turns.
/// Cost:    some hundred bytes for each membership.
class rooms {
 public:
  /// For one client.
  static constexpr std::size_t rooms_max = 1'000;
  static constexpr std::size_t name_bytes_max = 256;

  enum class joined : std::uint8_t { joined, was_in, too_many };

  joined join(std::string_view room, std::uint64_t client);
  /// Returns false if the client was not a member.
  bool leave(std::string_view room, std::uint64_t client);
  /// Removes the client from all rooms.
  void leave_all(std::uint64_t client);

  [[nodiscard]] bool has(std::string_view room, std::uint64_t client) const;
  /// In the order of their ids; null if the room is empty.
  [[nodiscard]] const std::set<std::uint64_t>* members(std::string_view room) const;

 private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return std::hash<std::string_view>{}(s);
    }
  };

  std::unordered_map<std::string, std::set<std::uint64_t>, hash, std::equal_to<>> members_;
  std::unordered_map<std::uint64_t, std::set<std::string, std::less<>>> rooms_;
};

}  // namespace troupe::lua::detail
