// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace troupe {

namespace detail {
struct watch_slot;
struct monitor_access;
}  // namespace detail

/// Identifies one monitor, which a call of actor::watch() has started. It is used to end the
/// monitor, and to distinguish its `down` from others.
///
/// Threads: a plain value.
/// Cost:    16 bytes.
class monitor {
 public:
  monitor() = default;

  /// Returns false for a default-constructed object, which identifies no monitor.
  explicit operator bool() const noexcept { return slot_ != nullptr; }

  friend bool operator==(const monitor&, const monitor&) = default;

 private:
  friend struct detail::monitor_access;
  monitor(detail::watch_slot* slot, std::uint64_t generation) noexcept
      : slot_(slot), generation_(generation) {}

  detail::watch_slot* slot_ = nullptr;
  std::uint64_t generation_ = 0;
};

}  // namespace troupe
