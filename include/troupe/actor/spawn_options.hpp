// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <troupe/actor/budget.hpp>
#include <troupe/actor/overload.hpp>
#include <troupe/actor/placement.hpp>
#include <troupe/actor/serial_group.hpp>

namespace troupe {

/// How to spawn one actor; system::spawn() takes it before the constructor's arguments.
struct spawn_options {
  std::string name = {};  // for logs and reports; empty: the type's
  placement where = troupe::pool;
  /// Which pool, by its name; empty: the system's own. An unknown one is a std::invalid_argument, and one beside another
  /// `where` than pool.
  std::string dispatcher = {};
  /// Never in parallel with the others of the group, on the group's dispatcher. A std::invalid_argument beside a
  /// dispatcher, or another `where` than pool.
  std::optional<serial_group> group = {};

  /// Messages that may wait in its mailbox; nothing: the system's, see system_options.
  /// At most 524,287, and a quarter of that with pause_senders; or no_limit.
  std::optional<std::size_t> max_messages = {};
  /// Bytes of the messages that may wait, with their heads of 16 bytes and with what they say that
  /// they own. It is never exceeded, but where many small and some large messages wait together
  /// their number may count for up to half of it.
  std::optional<std::size_t> max_bytes = {};
  overload when_full = overload::pause_senders;
  /// Beside these, the memory of a group; see budget.
  std::optional<budget> charged_to = {};
};

}  // namespace troupe
