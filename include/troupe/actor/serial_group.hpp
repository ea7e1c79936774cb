// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace troupe {

class system;

namespace detail {
class runtime;
class serial_executor;
}  // namespace detail

/// Actors whose turns never run in parallel: give the same group to each of them at spawn. What they share needs no
/// lock, as long as it is used in handlers, on_start(), on_stop() and destructors. A constructor
/// runs on the thread that spawns, but for a supervised child's.
///
///   troupe::serial_group ledger(system);
///   auto a = system.spawn<account>({.group = ledger}, book);
///   auto b = system.spawn<account>({.group = ledger}, book);
///
/// Each member keeps its own mailbox, limits and order. Who has something to do gets one turn after the other, and the group
/// together gets as many as one actor. A handler that waits in `co_await` lets the others go on; in blocking() or get()
/// it does not. get() for an actor of its own group is an error.
///
/// Threads: a plain value; copies are the same group. It lives as long as anybody who uses it.
/// Cost:    a mutex for each turn that is scheduled, and twice in the turn; nothing for each message. In a dispatcher that
///          has had a group, a virtual call for each turn of the other actors, too.
class serial_group {
 public:
  /// `dispatcher`: on whose workers; empty: the system's own.
  ///
  /// Errors: std::invalid_argument if there is none of this name.
  explicit serial_group(troupe::system& in, std::string_view dispatcher = {});

 private:
  friend struct serial_group_access;
  std::shared_ptr<detail::serial_executor> shared_;
  detail::runtime* home_;
  std::uint16_t epoch_;  // of home_: whether it is still the same system
};

}  // namespace troupe
