// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <troupe/actor/pump.hpp>
#include <troupe/detail/sync/event_fd.hpp>

namespace troupe {

/// A pump for a loop that waits for descriptors: poll, epoll, select, and libraries on top of them
/// (Qt, GLib, libuv, …). Watch fd() for being readable, level-triggered, and call drain() when it
/// is. An actor is bound to it with spawn_options{.where = bound_to(p.pump())}.
///
/// Threads:   as a pump: constructed, drained and destroyed on one thread, which may have only one
///            pump.
/// Invariant: fd() is readable while there is work: a message that arrives during a drain() makes
///            it readable again. It may be readable once without work, if a message was handled
///            immediately after its arrival, or by join() on this thread; drain() then clears it.
/// Cost:      a system call for the first message after a drain(), none for the messages after it;
///            one system call for each drain(), in addition to the turns.
/// Errors:    std::system_error if no descriptor is available; otherwise those of a pump.
class pump_fd {
 public:
  explicit pump_fd(system& of);
  pump_fd(const pump_fd&) = delete;
  pump_fd& operator=(const pump_fd&) = delete;
  /// Stops the actors that are still bound, as stop_now() does. fd() must have been removed from
  /// the loop before.
  ~pump_fd() = default;

  /// Default number of messages that a drain() handles; after that, the loop can serve its other
  /// descriptors.
  static constexpr std::size_t round = 256;

  /// Returns the descriptor, which stays the same during the lifetime of this object. It must not
  /// be read, written or closed.
  [[nodiscard]] int fd() const noexcept { return event_.fd(); }

  /// Handles at most `messages` messages, and leaves fd() readable if there are more. Returns the
  /// number of messages. See pump::drain_at_most().
  std::size_t drain(std::size_t messages = round);

  /// Returns the pump, for bound_to(). Its on_wakeup() must not be set.
  [[nodiscard]] troupe::pump& pump() noexcept { return pump_; }

 private:
  event_fd event_;
  troupe::pump pump_;  // destroyed first: its actors' last turns still set the event
};

}  // namespace troupe
