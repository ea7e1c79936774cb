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

/// Which of a connection's calls may run: those on channel 0 at once, those on another one after the other. A call
/// is a request or a notification.
///
///   arrive() ──▶ begins ───────────────────▶ finish()
///           └──▶ waits ──the one before─────▶
///
/// Threads:   one at a time.
/// Invariant: of each channel but 0, one call at most has begun and not finished; if one waits, one has begun.
/// Cost:      of a call, some allocations of less than 100 bytes.
class channel_order {
 public:
  /// What the connection calls a call by, in order of arrival; from 1 on.
  using ticket = std::uint64_t;

  /// A duplicate is answered with the id null, since the id is that of the request before; what is overloaded with
  /// its own.
  enum class verdict : std::uint8_t { begins, waits, duplicate, overloaded };
  struct arrival {
    verdict what;
    ticket call;  // 0 if it is refused
  };

  static constexpr std::size_t usual_open_max = 256;

  /// So many calls may have begun or wait.
  explicit channel_order(std::size_t open_max = usual_open_max) noexcept : open_max_(open_max) {}

  /// Notifications have no id. An id is in use until its call has finished.
  arrival arrive(std::uint8_t channel, std::optional<request_id> id);

  /// It has been answered, or dropped, even if it has not begun. Returns the one that begins now, if there is one.
  std::optional<ticket> finish(ticket call);

  /// That have begun or wait.
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
  // Of each channel that is in use but 0: the first has begun.
  std::map<std::uint8_t, std::deque<ticket>> lines_;
};

}  // namespace troupe::lua::detail
