// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::lua {

/// What a store does with one more entry when there is no room.
enum class when_full : std::uint8_t {
  refuse,  // the script is told
  evict,   // the entries that nobody has used for longest go
};

/// Of one store of keys and values in memory.
struct store_options {
  /// Of keys and values, and 128 for each entry.
  std::size_t bytes = 16 * 1024 * 1024;
  std::size_t entries = 100'000;
  lua::when_full when_full = lua::when_full::refuse;
};

/// How much all applications of a community may share. None is «unlimited»; what is refused or dropped is counted.
struct shared_limits {
  /// Of the store that all of them see.
  store_options store = {};
  /// Names with subscribers, and as many with clients.
  std::size_t topics = 100'000;
  /// Clients that are present, counted for each topic, and the bytes of what is said about them.
  std::size_t presence = 100'000;
  std::size_t presence_bytes = 16 * 1024 * 1024;
  /// Queues, and the bytes of all that is in them, with 64 for each item.
  std::size_t queues = 1'000;
  std::size_t queue_bytes = 64 * 1024 * 1024;
};

}  // namespace troupe::lua
