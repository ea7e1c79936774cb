// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <troupe/troupe.hpp>

namespace boost::asio {
class io_context;
}

namespace troupe::net {

/// A thread for sockets and the actors that own them. It runs an io_context and pumps the actors
/// bound to it. Completion handlers and handlers of bound actors never run concurrently, so such an
/// actor may start operations on its own members and complete them there.
///
/// Threads:   constructed and destroyed on one thread; all else from any thread.
/// Invariant: the thread lives as long as the loop, and keeps pumping while the system shuts down.
/// Cost:      a wake-up from another thread is one eventfd write for all messages until the loop
///            runs.
/// Errors:    an exception from a completion handler is reported to stderr and ends only that
///            operation: the loop continues.
///
/// In a simulation it has no thread. Completion handlers and the actors bound to the loop are
/// scheduled with the other actors. While an actor of the loop blocks, for example in get(),
/// completion handlers and other actors run.
///
/// Its destructor terminates the actors still bound to it, and drops outstanding operations without
/// completing them.
class loop {
 public:
  /// `name`: the thread's name, as shown by debuggers and top.
  explicit loop(troupe::system& on, std::string name = "troupe-net");
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;
  ~loop();

  /// Returns the pump of this loop, for spawn_options::where.
  [[nodiscard]] troupe::pump& pump() noexcept { return *pump_; }
  [[nodiscard]] boost::asio::io_context& context() noexcept;

 private:
  struct state;
  struct with_thread;
  struct driven;
  void run(with_thread& with, troupe::system& on);

  std::unique_ptr<state> state_;
  troupe::pump* pump_ = nullptr;  // on the thread's stack, or in the state
};

}  // namespace troupe::net
