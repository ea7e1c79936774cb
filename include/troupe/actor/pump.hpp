// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <troupe/actor/placement.hpp>

namespace troupe {

class pump;
class system;

namespace detail {
class bound_executor;
class conducted_executor;
class runtime;
std::unique_ptr<pump> conducted_pump(system& of);
}  // namespace detail

/// Gives turns to actors on the thread that made it: the main thread, a user interface, an event
/// loop. Actors come here with spawn_options{.where = bound_to(pump)}.
///
/// Threads: made, pumped and destroyed on one thread, of which it is the only pump. Spawning on it,
///          and sending to its actors, from anywhere.
/// Errors:  std::logic_error if pumped from another thread, or from inside a handler.
class pump {
 public:
  explicit pump(system& of);
  pump(const pump&) = delete;
  pump& operator=(const pump&) = delete;

  /// Ends the actors that are still bound to it, as stop_now() does.
  ~pump();

  /// Handles what is there now, but not what that leads to. Returns how many messages it was.
  std::size_t drain();

  /// For a loop that has other things to do: gives each actor that has work one turn, which is of 128
  /// messages at most, and stops after so many messages in all. Who has had no turn then is first in
  /// line the next time. A turn without a message, to start or end an actor, counts as one.
  std::size_t drain_at_most(std::size_t messages);

  /// Handles messages until there are none. Returns how many.
  std::size_t run_until_idle();

  /// Handles messages, and sleeps while there are none, until every actor bound to it has ended.
  void run_until_stopped();

  /// `callback` is called when there is something to drain and nothing was before: on the thread
  /// that sent it, or on this one. It should only wake the loop that will drain: locks are held
  /// while it runs, so it must not use Troupe, wait for a lock that somebody holds while using
  /// Troupe, or throw. If something is there already it is called at once. When on_wakeup()
  /// returns, the callback set before is not running and will not be called.
  void on_wakeup(std::function<void()> callback);

 private:
  friend class detail::bound_executor;
  friend class system;
  friend std::unique_ptr<pump> detail::conducted_pump(system& of);

  pump(detail::runtime& of, detail::conducted_executor& by);

  std::unique_ptr<detail::bound_executor> executor_;
};

}  // namespace troupe
