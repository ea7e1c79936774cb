// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::lua {

/// A store's policy for a new entry when it is full.
enum class on_full : std::uint8_t {
  refuse,  // it is an error in the script
  evict,   // the least recently used entries are removed
};

/// The limits of one in-memory key-value store.
struct store_options {
  /// The bytes of keys and values, plus 128 for each entry.
  std::size_t bytes = 16 * 1024 * 1024;
  std::size_t entries = 100'000;
  lua::on_full on_full = lua::on_full::refuse;
};

/// Limits for resources that all applications of a community share. None of them can be unlimited;
/// each refusal or drop is counted.
struct shared_limits {
  /// The store that all applications share.
  store_options store = {};
  /// Names with subscribers, and separately names with clients.
  std::size_t topics = 100'000;
  /// Clients that are present, counted for each topic, and the bytes of their presence data.
  std::size_t presence = 100'000;
  std::size_t presence_bytes = 16 * 1024 * 1024;
  /// Queues, and the bytes of their items plus 64 for each item.
  std::size_t queues = 1'000;
  std::size_t queue_bytes = 64 * 1024 * 1024;
  /// The maximum share of each of these, except the store, that one application may use. Charged is
  /// the application that creates a queue or a topic, adds an item to a queue, or registers a
  /// client's presence.
  unsigned application_percent = 50;
};

}  // namespace troupe::lua
