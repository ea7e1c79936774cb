// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <troupe/server/configuration.hpp>

namespace troupe::server::detail {

/// Raises the process's soft limit of open descriptors to the hard one. Returns how many there may
/// be now.
std::size_t raise_descriptor_limit() noexcept;

/// How many descriptors a server keeps for everything but the connections of its clients: answers
/// to those that it has no room for, connections that applications have opened, the log, loops, and
/// files that are being read.
[[nodiscard]] std::size_t reserved_descriptors(const configuration& what) noexcept;

/// How many connections a server may have.
struct connection_room {
  std::size_t connections_max = 0;
  /// Why that is less than limits.connections_max, for the log; empty if it is not.
  std::string warning = {};
};
[[nodiscard]] connection_room room_for_connections(const configuration& what,
                                                   std::size_t descriptors);

}  // namespace troupe::server::detail
