// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <troupe/server/configuration.hpp>

namespace troupe::server::detail {

/// Raises the process's soft limit of open descriptors to the hard limit. Returns the new limit.
std::size_t raise_descriptor_limit() noexcept;

/// The number of descriptors that a server reserves for purposes other than its clients'
/// connections: responses to clients that it refuses, connections that applications open, the log,
/// loops, and files that are being read.
[[nodiscard]] std::size_t reserved_descriptors(const configuration& what) noexcept;

/// The number of connections that a server may have.
struct connection_room {
  std::size_t connections_max = 0;
  /// Why the number is less than limits.connections_max, for the log. Empty if it is not.
  std::string warning = {};
};
[[nodiscard]] connection_room room_for_connections(const configuration& what,
                                                   std::size_t descriptors);

}  // namespace troupe::server::detail
