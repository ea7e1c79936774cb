// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include <troupe/actor/pump.hpp>

namespace boost::asio {
class io_context;
}

namespace troupe::net {

namespace detail {
class rounds;
}

/// A pump inside an io_context that the program runs itself: actors that are bound to it get their
/// turns between the completion handlers, on the same thread, never at the same time. (A net::loop
/// is that with a thread of its own.)
///
/// Threads:   made and destroyed on the thread that runs the io_context, the only one that does, and
///            not inside a handler of an actor. Spawning on it and sending to its actors, from
///            anywhere.
/// Invariant: one handler at most is posted, and only if there is something to do. It handles `round`
///            messages at most and posts the next one behind the handlers that wait by then.
/// Cost:      one post, without an allocation, for all messages until the handler runs.
/// Errors:    std::logic_error out of run() if another thread runs the io_context, or a handler of an
///            actor does: nothing is handled then, and nothing lost. Of the constructor: those of a
///            pump; std::bad_alloc.
///
/// While it lives, run() does not return for want of work, unless let_run_return() has been called. If
/// the io_context is stopped, its actors get their turns when it runs again. If it is destroyed first,
/// they get none until the pump ends, and ends them.
class asio_pump {
 public:
  asio_pump(troupe::system& of, boost::asio::io_context& on);
  asio_pump(const asio_pump&) = delete;
  asio_pump& operator=(const asio_pump&) = delete;
  /// Ends the actors that are still bound to it, as stop_now() does.
  ~asio_pump();

  /// Then the io_context looks at its sockets and timers.
  static constexpr std::size_t round = 256;

  /// Actors that only wait for messages do not keep run() from returning any more: it does when
  /// nothing else is outstanding. From the pump's thread.
  void let_run_return();

  /// For bound_to(). Do not set its on_wakeup().
  [[nodiscard]] troupe::pump& pump() noexcept { return pump_; }

 private:
  const std::shared_ptr<detail::rounds> rounds_;  // a posted handler may outlive this
  troupe::pump pump_;
};

}  // namespace troupe::net
