// SPDX-License-Identifier: Apache-2.0

#include "descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace troupe::server::detail {
namespace {

// Standard streams, the log, the control socket, the port and signals; an epoll, an event and a
// timer for each loop; and space for short-lived files: scripts that are read and static files that
// are sent.
constexpr std::size_t of_the_server = 64;
constexpr std::size_t of_a_loop = 4;
// Clients that are refused for lack of space at the same time.
constexpr std::size_t of_refusals = 64;

}  // namespace

std::size_t raise_descriptor_limit() noexcept {
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return any;
  if (now.rlim_cur < now.rlim_max) {
    rlimit raised = now;
    raised.rlim_cur = raised.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) now = raised;
  }
  return now.rlim_cur == RLIM_INFINITY ? any : static_cast<std::size_t>(now.rlim_cur);
}

std::size_t reserved_descriptors(const configuration& what) noexcept {
  std::size_t all = of_the_server + of_a_loop * what.http.loops + of_refusals;
  for (const served_application& each : what.applications) {
    const lua::application_options& its = each.options;
    if (!its.outgoing.are_all() && its.outgoing.list().empty()) continue;
    all +=
        of_a_loop + http::client_options{}.connections_max + its.limits.connections * its.instances;
  }
  return all;
}

connection_room room_for_connections(const configuration& what, std::size_t descriptors) {
  const std::size_t wanted = what.http.limits.connections_max;
  const std::size_t reserved = reserved_descriptors(what);
  if (descriptors >= reserved && descriptors - reserved >= wanted) return {wanted};
  // If the limit is very low, half of it is for connections, because most reserved descriptors are
  // rarely used.
  const std::size_t room =
      std::max({descriptors - std::min(descriptors, reserved), descriptors / 2, std::size_t{1}});
  if (room >= wanted) return {wanted};
  return {room, "limits.connections_max is " + std::to_string(wanted) + ", but only " +
                    std::to_string(room) + " connections are accepted: the process may open " +
                    std::to_string(descriptors) + " descriptors, of which " +
                    std::to_string(descriptors - room) +
                    " are kept for other things. Raise the hard limit (LimitNOFILE= of systemd, "
                    "ulimit -Hn, --ulimit nofile= of Docker) to " +
                    std::to_string(wanted + reserved) + ", or lower limits.connections_max"};
}

}  // namespace troupe::server::detail
