// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/adaptive_spin.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe {

/// Puts one thread to sleep and wakes it when there is work.
///
/// Threads:   notify() from any thread; park() and park_until() from the owner only.
/// Invariant: a notify() after the owner's last check for work is never lost. Several notifications
///            before one park() count once.
/// Cost:      one read-modify-write each; a system call only to sleep, and to wake a sleeping
///            thread.
class parker {
 public:
  parker() = default;
  parker(const parker&) = delete;
  parker& operator=(const parker&) = delete;

  /// Sleeps until notified, and consumes the notification. Never returns without one.
  void park() noexcept;

  /// Sleeps until notified, as park() does, but first polls for a notification, for as long as
  /// `spin` determines.
  void park(adaptive_spin& spin) noexcept;

  /// Sleeps until notified, as park() does, or until the deadline has passed. Returns true if
  /// notified.
  [[nodiscard]] bool park_until(time_point deadline) noexcept;

  [[nodiscard]] bool park_until(time_point deadline, adaptive_spin& spin) noexcept;

  /// Returns true if the owner was asleep.
  bool notify() noexcept;

 private:
  // park() subtracts one: token → awake (continues), awake → asleep (sleeps).
  enum state : std::uint32_t { awake = 0, token = 1, asleep = 0xffff'ffff };

  bool take_token() noexcept;
  bool comes_soon(adaptive_spin& spin) noexcept;

  atomic<std::uint32_t> state_{awake};
};

}  // namespace troupe
