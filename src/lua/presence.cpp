// SPDX-License-Identifier: Apache-2.0

#include "presence.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace troupe::lua::detail {

bool presence_box::put(presence_event what, pending_notifications& whom) {
  const bool leaves = what.what == presence_change::left;
  const std::lock_guard lock(mutex_);
  if (!leaves && events_.size() - leaves_ >= most_) return false;
  whom.reserve_one();
  events_.push_back(std::move(what));
  if (leaves) ++leaves_;
  if (!std::exchange(told_, true)) whom.add(whom_, told);
  return true;
}

std::vector<presence_event> presence_box::take(std::size_t most, bool& more) {
  std::vector<presence_event> some;
  const std::lock_guard lock(mutex_);
  const auto end = events_.begin() + static_cast<std::ptrdiff_t>(std::min(most, events_.size()));
  some.assign(std::make_move_iterator(events_.begin()), std::make_move_iterator(end));
  events_.erase(events_.begin(), end);
  for (const presence_event& each : some) {
    if (each.what == presence_change::left) --leaves_;
  }
  more = told_ = !events_.empty();
  return some;
}

}  // namespace troupe::lua::detail
