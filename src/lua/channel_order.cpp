// SPDX-License-Identifier: Apache-2.0

#include "channel_order.hpp"

#include <algorithm>

#include <troupe/detail/base/assert.hpp>

namespace troupe::lua::detail {

channel_order::arrival channel_order::arrive(std::uint8_t channel, std::optional<request_id> id) {
  if (id && ids_.contains(*id)) return {verdict::duplicate, 0};
  if (calls_.size() >= open_max_) return {verdict::overloaded, 0};
  const ticket call = ++last_;
  calls_.emplace(call, about{channel, id});
  if (id) ids_.insert(*id);
  if (channel == 0) return {verdict::begins, call};
  auto& line = lines_[channel];
  line.push_back(call);
  return {line.size() == 1 ? verdict::begins : verdict::waits, call};
}

std::optional<channel_order::ticket> channel_order::finish(ticket call) {
  const auto found = calls_.find(call);
  TROUPE_EXPECTS(found != calls_.end(), "a call finishes once");
  const auto [channel, id] = found->second;
  calls_.erase(found);
  if (id) ids_.erase(*id);
  if (channel == 0) return std::nullopt;
  const auto line = lines_.find(channel);
  auto& waiting = line->second;
  const bool had_begun = waiting.front() == call;
  waiting.erase(std::find(waiting.begin(), waiting.end(), call));
  if (waiting.empty()) {
    lines_.erase(line);
    return std::nullopt;
  }
  if (!had_begun) return std::nullopt;
  return waiting.front();
}

}  // namespace troupe::lua::detail
