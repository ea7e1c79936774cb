// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "rpc.hpp"

namespace troupe::lua::detail {

/// Decides which calls of a connection may run. Calls on channel 0 begin at once; calls on any
/// other channel run one at a time, in order. A call is a request or a notification.
///
///   arrive() ──▶ begins ───────────────────▶ finish()
///           └──▶ waits ──previous one ends──▶
///
/// Threads:   one at a time.
/// Invariant: on each channel except 0, at most one call has begun and not finished. If a call
///            waits on a channel, one has begun there.
/// Cost:      some allocations of less than 100 bytes per call.
class channel_order {
 public:
  /// The connection's name for a call. Tickets are numbered from 1, in order of arrival.
  using ticket = std::uint64_t;

  /// The error reply to a duplicate has the id null, because its id belongs to the earlier request.
  /// The reply to an overloaded request has the id of that request.
  enum class verdict : std::uint8_t { begins, waits, duplicate, overloaded };
  struct arrival {
    verdict what;
    ticket call;  // 0 if it is refused
  };

  static constexpr std::size_t usual_open_max = 256;

  /// At most `open_max` calls may be running or waiting.
  explicit channel_order(std::size_t open_max = usual_open_max) noexcept : open_max_(open_max) {}

  /// Notifications have no id. An id is in use until its call has finished.
  arrival arrive(std::uint8_t channel, std::optional<request_id> id);

  /// Reports that a call was replied to or dropped, even if it had not begun. Returns the call that
  /// begins now, if any.
  std::optional<ticket> finish(ticket call);

  /// Returns the number of calls that are running or waiting.
  [[nodiscard]] std::size_t open() const noexcept { return calls_.size(); }

 private:
  struct about {
    std::uint8_t channel;
    std::optional<request_id> id;
  };

  const std::size_t open_max_;
  ticket last_ = 0;
  std::unordered_map<ticket, about> calls_;
  std::unordered_set<request_id> ids_;
  // Of each channel in use except 0. The first call of a line has begun.
  std::map<std::uint8_t, std::deque<ticket>> lines_;
};

}  // namespace troupe::lua::detail
