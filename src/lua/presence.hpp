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

#include "telling.hpp"

namespace troupe::lua::detail {

/// A client that is present in a topic, and what is said about it, in CBOR. It never changes: another one takes its place.
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

/// What a program that watches has not been told yet.
///
/// Threads:   any.
/// Invariant: if it is not empty, its program has been told, or is about to be. Of joins and updates there are no more
///            than `most`; a leave always has room.
class presence_box {
 public:
  /// What a teller says when it means this.
  static constexpr std::uint64_t told = 0;

  presence_box(std::uint64_t id, teller whom, std::size_t most)
      : id_(id), whom_(std::move(whom)), most_(most) {}

  /// Never used again.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  /// False: there is no room. The caller tells those in `whom` when it has no lock any more.
  bool put(presence_event what, to_be_told& whom);

  /// The oldest `most`. With `more` there are others, and the program is told of them again.
  [[nodiscard]] std::vector<presence_event> take(std::size_t most, bool& more);

 private:
  const std::uint64_t id_;
  const teller whom_;
  const std::size_t most_;
  mutex mutex_;  // guards what follows
  std::deque<presence_event> events_;
  std::size_t leaves_ = 0;  // of these
  bool told_ = false;
};

}  // namespace troupe::lua::detail
