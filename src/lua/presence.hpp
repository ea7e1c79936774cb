// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <troupe/sync/mutex.hpp>

#include "notifier.hpp"

namespace troupe::lua::detail {

/// A client that is present in a topic, and its metadata in CBOR. It is immutable; an update
/// replaces it.
struct attendee {
  std::uint64_t client = 0;
  unsigned instance = 0;
  std::string meta;
};

enum class presence_change : std::uint8_t { joined, updated, left };
inline constexpr std::size_t presence_changes = 3;

struct presence_event {
  std::string topic;
  presence_change what = presence_change::joined;
  std::shared_ptr<const attendee> who;
};

/// The changes of which a watching program has not been notified yet.
///
/// Threads:   any.
/// Invariant: if the box is not empty, its program has been notified or is about to be. It holds at
///            most `most` joins and updates; a leave always has room.
class presence_box {
 public:
  /// The number with which a notifier announces this box.
  static constexpr std::uint64_t told = 0;

  presence_box(std::uint64_t id, notifier whom, std::size_t most)
      : id_(id), whom_(std::move(whom)), most_(most) {}

  /// Ids are never reused.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  /// Returns false if there is no room. The caller notifies the receivers in `whom` after it has
  /// released its locks.
  bool put(presence_event what, pending_notifications& whom);

  /// Takes the oldest `most` changes. Sets `more` if others remain; the program is then notified
  /// again.
  [[nodiscard]] std::vector<presence_event> take(std::size_t most, bool& more);

 private:
  const std::uint64_t id_;
  const notifier whom_;
  const std::size_t most_;
  mutex mutex_;  // guards the members below
  std::deque<presence_event> events_;
  std::size_t leaves_ = 0;  // number of leaves among them
  bool told_ = false;
};

}  // namespace troupe::lua::detail
