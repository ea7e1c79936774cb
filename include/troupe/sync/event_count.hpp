// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/sync/adaptive_spin.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe {

/// Lets threads sleep until something holds that other words say, of whatever kind they are.
///
///     while (!there_is_work()) {                       there_is_work_now();
///       const auto ticket = events.prepare_wait();     events.notify_one();
///       if (there_is_work()) {
///         events.cancel_wait();
///         break;
///       }
///       events.wait(ticket);
///     }
///
/// Threads:   any.
/// Invariant: a notification after prepare_wait() ends the wait, and what comes before a notification is seen
///            by the look after prepare_wait() or ends the wait: those words need no orders for that.
/// Cost:      one read-modify-write to notify, two to wait; a system call only to sleep, and to wake who
///            sleeps. May be destroyed when every notify has returned.
class event_count {
 public:
  /// Which notifications have been before.
  using ticket = std::uint32_t;

  constexpr event_count() noexcept = default;
  event_count(const event_count&) = delete;
  event_count& operator=(const event_count&) = delete;

  /// To be followed by a look, and that by cancel_wait() or a wait.
  [[nodiscard]] ticket prepare_wait() noexcept;
  void cancel_wait() noexcept;

  /// Returns after the next notification, or one that others have been woken by.
  void wait(ticket since) noexcept;
  /// Returns false if the deadline passed.
  [[nodiscard]] bool wait_until(ticket since, time_point deadline) noexcept;

  /// At least one of those that wait.
  void notify_one() noexcept { notify(1); }
  void notify_all() noexcept { notify(UINT32_MAX); }

 private:
  bool sleep(ticket since, const time_point* deadline) noexcept;
  void notify(std::uint32_t count) noexcept;

  atomic<std::uint32_t> waiting_{0};
  atomic<std::uint32_t> epoch_{0};
  adaptive_spin spin_;
};

}  // namespace troupe
