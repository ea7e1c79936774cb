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

/// A group of actors whose turns never run in parallel. Pass the same group to each of them at
/// spawn. State that the members share needs no lock, as long as it is used only in handlers,
/// on_start(), on_stop() and destructors. A constructor runs on the thread that spawns, except for
/// that of a supervised child.
///
///   troupe::serial_group ledger(system);
///   auto a = system.spawn<account>({.group = ledger}, book);
///   auto b = system.spawn<account>({.group = ledger}, book);
///
/// Each member keeps its own mailbox, limits and order. Members with work run in turn, and the
/// whole group is scheduled as often as one actor. A handler that is suspended in `co_await` lets
/// other members run; one in blocking() or get() does not. Waiting with get() for a reply from a
/// member of the same group is an error.
///
/// Threads: a plain value; copies are the same group, which lives as long as any user of it.
/// Cost:    a mutex for each turn that is scheduled, and twice in the turn; nothing for each
///          message. In a dispatcher that has had a group, also a virtual call for each turn of the
///          other actors.
class serial_group {
 public:
  /// `dispatcher` is the name of the pool whose workers run the group; empty: the system's own.
  ///
  /// Errors: std::invalid_argument if no dispatcher has this name.
  explicit serial_group(troupe::system& in, std::string_view dispatcher = {});

 private:
  friend struct serial_group_access;
  std::shared_ptr<detail::serial_executor> shared_;
  detail::runtime* home_;
  std::uint16_t epoch_;  // of home_: to check that it is still the same system
};

}  // namespace troupe
