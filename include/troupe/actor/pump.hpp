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
class driven_executor;
class runtime;
std::unique_ptr<pump> driven_pump(system& of);
}  // namespace detail

/// Runs actors on the thread that created the pump, for example the main thread, a user interface
/// thread or an event loop. An actor is bound to it with spawn_options{.where = bound_to(pump)}.
///
/// Threads: constructed, run and destroyed on one thread, which may have only one pump. Any thread
///          may spawn actors on it and send to its actors.
/// Errors:  std::logic_error if it is run from another thread, or from inside a handler.
class pump {
 public:
  explicit pump(system& of);
  pump(const pump&) = delete;
  pump& operator=(const pump&) = delete;

  /// Stops the actors that are still bound to it, as stop_now() does.
  ~pump();

  /// Handles the messages that are present now, but not those that result from them. Returns the
  /// number of messages.
  std::size_t drain();

  /// Runs one turn of each actor that has work, and stops after `messages` messages in total; for a
  /// loop that has other work. A turn handles at most 128 messages. Actors that had no turn are
  /// first in line at the next call. A turn without a message, to start or terminate an actor,
  /// counts as one.
  std::size_t drain_at_most(std::size_t messages);

  /// Handles messages until no more are present. Returns the number of messages.
  std::size_t run_until_idle();

  /// Handles messages, and sleeps while no messages are present, until every actor bound to the
  /// pump has terminated.
  void run_until_stopped();

  /// Sets a function that is called when the pump gets work and had none before. It is called on
  /// the sending thread, which may be the pump's own, and should only wake the loop that will call
  /// drain(). Locks are held while it runs, so it must not use Troupe, must not throw, and must not
  /// wait for a lock that any thread holds while using Troupe. If work is present already, it is
  /// called at once. When on_wakeup() returns, the callback set before is not running and will not
  /// be called.
  void on_wakeup(std::function<void()> callback);

 private:
  friend class detail::bound_executor;
  friend class system;
  friend std::unique_ptr<pump> detail::driven_pump(system& of);

  pump(detail::runtime& of, detail::driven_executor& by);

  std::unique_ptr<detail::bound_executor> executor_;
};

}  // namespace troupe
