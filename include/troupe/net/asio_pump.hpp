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

/// A pump inside an io_context that the program runs itself. Actors bound to it get their turns
/// between completion handlers, on the same thread, never concurrently. (A net::loop is the same
/// with its own thread.)
///
/// Threads:   created and destroyed on the only thread that runs the io_context, and not inside a
///            handler of an actor. Spawning on it and sending to its actors: any thread.
/// Invariant: at most one handler is posted, and only if there is work. It handles at most `round`
///            messages and then posts the next one after the handlers already waiting.
/// Cost:      one post, without an allocation, for all messages until the handler runs.
/// Errors:    std::logic_error out of run() if another thread runs the io_context, or a handler of
///            an actor does; then no message is handled or lost. Of the constructor: those of a
///            pump, and std::bad_alloc.
///
/// While it lives, run() does not return for lack of work, unless release_work() has been called.
/// If the io_context is stopped, the actors get their turns when it runs again. If it is destroyed
/// first, they get no more turns; the pump's destructor terminates them.
class asio_pump {
 public:
  asio_pump(troupe::system& of, boost::asio::io_context& on);
  asio_pump(const asio_pump&) = delete;
  asio_pump& operator=(const asio_pump&) = delete;
  /// Terminates the actors still bound to it, as stop_now() does.
  ~asio_pump();

  /// Messages handled before the io_context checks its sockets and timers again.
  static constexpr std::size_t round = 256;

  /// Lets run() return when nothing else is outstanding, even if actors wait for messages. Must be
  /// called on the pump's thread.
  void release_work();

  /// For bound_to(). Its on_wakeup() must not be set.
  [[nodiscard]] troupe::pump& pump() noexcept { return pump_; }

 private:
  const std::shared_ptr<detail::rounds> rounds_;  // a posted handler may outlive this object
  troupe::pump pump_;
};

}  // namespace troupe::net
