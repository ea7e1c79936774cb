// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <troupe/troupe.hpp>

namespace boost::asio {
class io_context;
}

namespace troupe::net {

/// A thread on which sockets and the actors that own them live: it runs an io_context and pumps the
/// actors that are bound to it. Completion handlers and handlers of bound actors never run at the
/// same time, so such an actor may start operations on members of its own and complete them there.
///
/// Threads:   construct and destroy on one; the rest from anywhere.
/// Invariant: the thread lives as long as the loop, and keeps pumping while the system shuts down.
/// Cost:      a wake-up from another thread is one eventfd write for all messages until the loop
///            looks.
/// Errors:    an exception out of a completion handler is reported to stderr and costs that
///            operation alone: the loop goes on.
///
/// In a simulation it has no thread: completion handlers run one by one when their turn has come among the
/// actors', and so do the actors that are bound to it. Where an actor of it waits, with get() for one, handlers run
/// meanwhile, as other actors do.
///
/// Its end ends the actors that are still bound to it, and drops operations that are outstanding
/// without completing them.
class loop {
 public:
  /// `name` is what debuggers and top show.
  explicit loop(troupe::system& on, std::string name = "troupe-net");
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;
  ~loop();

  /// For spawn_options::where.
  [[nodiscard]] troupe::pump& pump() noexcept { return *pump_; }
  [[nodiscard]] boost::asio::io_context& context() noexcept;

 private:
  struct state;
  struct with_thread;
  struct conducted;
  void run(with_thread& with, troupe::system& on);

  std::unique_ptr<state> state_;
  troupe::pump* pump_ = nullptr;  // lives on the thread's stack, or in the state
};

}  // namespace troupe::net
