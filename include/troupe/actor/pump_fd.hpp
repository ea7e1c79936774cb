// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <troupe/actor/pump.hpp>
#include <troupe/sync/event_fd.hpp>

namespace troupe {

/// A pump for a loop that waits for descriptors: poll, epoll, select, and what is built on them (Qt,
/// GLib, libuv, …). Watch fd() for being readable, level-triggered, and call drain() when it is.
/// Actors come here with spawn_options{.where = bound_to(p.pump())}.
///
/// Threads:   as a pump: made, drained and destroyed on one thread, of which it is the only pump.
/// Invariant: fd() is readable while there is something to drain: what comes during a drain() makes
///            it readable again. It may be readable once when there is nothing, if a message was
///            handled just as it came, or by join() on this thread; drain() then clears it.
/// Cost:      a system call for the first message after a drain(), none for those behind it; one for
///            a drain() beside the turns.
/// Errors:    std::system_error if there is no descriptor to be had; else those of a pump.
class pump_fd {
 public:
  explicit pump_fd(system& of);
  pump_fd(const pump_fd&) = delete;
  pump_fd& operator=(const pump_fd&) = delete;
  /// Take fd() out of the loop before. Ends the actors that are still bound, as stop_now() does.
  ~pump_fd() = default;

  /// So many messages a drain() handles, if it is not told otherwise; then the loop looks at its
  /// other descriptors.
  static constexpr std::size_t round = 256;

  /// The same as long as this lives. Not to be read, written or closed.
  [[nodiscard]] int fd() const noexcept { return event_.fd(); }

  /// Handles so many messages at most, and leaves fd() readable if there are more. Returns how many
  /// it was. See pump::drain_at_most().
  std::size_t drain(std::size_t messages = round);

  /// For bound_to(). Do not set its on_wakeup().
  [[nodiscard]] troupe::pump& pump() noexcept { return pump_; }

 private:
  event_fd event_;
  troupe::pump pump_;  // ends first: its actors' last turns still set the event
};

}  // namespace troupe
