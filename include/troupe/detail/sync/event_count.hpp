// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/adaptive_spin.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe {

/// Lets threads sleep until a condition on arbitrary other variables holds.
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
/// Invariant: a notification after prepare_wait() ends the wait. Writes before a notification are
///            seen by the check after prepare_wait(), or the notification ends the wait; the
///            variables need no memory orders for that.
/// Cost:      one read-modify-write to notify, two to wait; a system call only to sleep, and to
///            wake sleeping threads. May be destroyed when every notify has returned.
class event_count {
 public:
  /// Identifies the notifications that came before.
  using ticket = std::uint32_t;

  constexpr event_count() noexcept = default;
  event_count(const event_count&) = delete;
  event_count& operator=(const event_count&) = delete;

  /// Begins a wait. The caller must then check the condition, and call cancel_wait() or wait.
  [[nodiscard]] ticket prepare_wait() noexcept;
  void cancel_wait() noexcept;

  /// Returns after the next notification, or after one that woke other threads.
  void wait(ticket since) noexcept;
  /// Returns false if the deadline passed.
  [[nodiscard]] bool wait_until(ticket since, time_point deadline) noexcept;

  /// Wakes at least one of the waiting threads.
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
