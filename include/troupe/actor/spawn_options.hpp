// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <troupe/actor/budget.hpp>
#include <troupe/actor/overflow.hpp>
#include <troupe/actor/placement.hpp>
#include <troupe/actor/serial_group.hpp>

namespace troupe {

/// How to spawn one actor; system::spawn() takes it before the constructor's arguments.
struct spawn_options {
  std::string name = {};  // for logs and reports; empty: the name of the actor's type
  placement where = troupe::pool;
  /// Name of the pool to run on; empty: the system's own pool. spawn() throws std::invalid_argument
  /// if no pool has this name, or if `where` is anything other than pool.
  std::string dispatcher = {};
  /// Serial group: the actor never runs in parallel with other members of the group, and runs on
  /// the group's dispatcher. spawn() throws std::invalid_argument if `dispatcher` is set as well,
  /// or if `where` is anything other than pool.
  std::optional<serial_group> group = {};

  /// Limit for the number of messages in the mailbox; empty: the system's limit, see
  /// system_options. At most 524,287, a quarter of that with backpressure; or no_limit.
  std::optional<std::size_t> max_messages = {};
  /// Limit for the bytes of the messages in the mailbox, including 16 bytes of header for each and
  /// the bytes that they declare to own. It is never exceeded. Where small and large messages wait
  /// together, however, their number may count for up to half of it.
  std::optional<std::size_t> max_bytes = {};
  overflow on_full = overflow::of_class;
  /// A memory budget that the actor shares with a group, in addition to the limits above; see
  /// budget.
  std::optional<budget> memory_budget = {};
};

}  // namespace troupe
