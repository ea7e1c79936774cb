// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::lua::detail {

/// Notifies a program of an event in a turn of its instance: program::told(what). It may be called
/// from any thread, but not under a lock, because it sends a message. It does nothing if the
/// instance has ended.
using notifier = std::shared_ptr<const std::function<void(std::uint64_t what)>>;

/// Receivers that are collected under a lock and notified after it is released.
class pending_notifications {
 public:
  /// Reserves room for one more, so that add() cannot fail.
  void reserve_one() { all_.reserve(all_.size() + 1); }
  void add(const notifier& whom, std::uint64_t what) { all_.emplace_back(whom, what); }
  void tell() const {
    for (const auto& [whom, what] : all_) (*whom)(what);
  }

 private:
  std::vector<std::pair<notifier, std::uint64_t>> all_;
};

}  // namespace troupe::lua::detail
