// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/simulation_driver.hpp>

namespace troupe::sim {

/// Identifies an actor by the address and the generation of its slot. Used for lookups only, never
/// for iteration or output, because addresses differ between runs.
using actor_key = std::pair<const void*, std::uint32_t>;

/// Messages that were sent but have not arrived yet.
///
/// Invariant: messages between the same two actors arrive in the order in which they were kept.
class late_messages {
 public:
  using pair = std::pair<actor_key, actor_key>;  // sender and recipient

  struct message {
    const detail::periodic_task* of_system;
    detail::control_block* to;  // held; the code that takes the message releases it
    detail::envelope* message;
    pair between;
  };

  /// Keeps a message until the given time, or until the earlier messages of the same pair have
  /// arrived, whichever is later.
  void keep(time_point until, const message& one) {
    line& those = between_[one.between];
    ++those.count;
    those.until = std::max(those.until, until);
    by_time_.emplace(those.until, one);
  }

  /// Returns true if a message of this pair is kept. Later messages of the pair are then late as
  /// well.
  [[nodiscard]] bool is_one_between(const pair& two) const { return between_.contains(two); }

  /// Returns when the next message is due, or time_point::max() if none is kept.
  [[nodiscard]] time_point next() const noexcept {
    return by_time_.empty() ? time_point::max() : by_time_.begin()->first;
  }
  [[nodiscard]] std::optional<message> take_due(time_point now) {
    if (next() > now || by_time_.empty()) return std::nullopt;
    const message one = by_time_.extract(by_time_.begin()).mapped();
    forget(one.between);
    return one;
  }

  /// Discards the messages of a system that has terminated.
  void drop(const detail::periodic_task& of_system) noexcept {
    std::erase_if(by_time_, [&](const auto& each) {
      const message& one = each.second;
      if (one.of_system != &of_system) return false;
      forget(one.between);
      one.message->how->discard(*one.message);
      one.to->let_go();
      return true;
    });
  }

 private:
  struct line {
    time_point until{};
    std::size_t count = 0;
  };

  void forget(const pair& two) noexcept {
    const auto found = between_.find(two);
    if (--found->second.count == 0) between_.erase(found);
  }

  std::multimap<time_point, message> by_time_;  // equal times: in the order of keeping
  std::map<pair, line> between_;
};

}  // namespace troupe::sim
