// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <troupe/actor/conductor.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/base/clock.hpp>

namespace troupe::sim {

/// Where an actor is, and which one there: to look things up by, never to walk or to tell.
using actor_key = std::pair<const void*, std::uint32_t>;

/// Messages that have been sent and are not there yet.
///
/// Invariant: those between the same two come in the order in which they were kept.
class late_messages {
 public:
  using pair = std::pair<actor_key, actor_key>;  // who sends to whom

  struct message {
    const detail::chore* of_system;
    detail::control_block* to;  // held, by who takes it from now on
    detail::envelope* message;
    pair between;
  };

  /// Until then, or until those before it have come.
  void keep(time_point until, const message& one) {
    line& those = between_[one.between];
    ++those.count;
    those.until = std::max(those.until, until);
    by_time_.emplace(those.until, one);
  }

  /// What comes behind it is late, too.
  [[nodiscard]] bool is_one_between(const pair& two) const { return between_.contains(two); }

  /// When the next is due; the end of time if there is none.
  [[nodiscard]] time_point next() const noexcept {
    return by_time_.empty() ? time_point::max() : by_time_.begin()->first;
  }
  [[nodiscard]] std::optional<message> take_due(time_point now) {
    if (next() > now || by_time_.empty()) return std::nullopt;
    const message one = by_time_.extract(by_time_.begin()).mapped();
    forget(one.between);
    return one;
  }

  /// The system has ended.
  void drop(const detail::chore& of_system) noexcept {
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

  std::multimap<time_point, message> by_time_;  // and, among equals, in the order of keeping
  std::map<pair, line> between_;
};

}  // namespace troupe::sim
