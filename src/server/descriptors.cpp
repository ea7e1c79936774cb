// SPDX-License-Identifier: Apache-2.0

#include "descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace troupe::server::detail {
namespace {

// Standard streams, the log, the control socket, the port, signals; of each loop an epoll, an
// event, a timer; and room for scripts that are read and static files that are sent, which wait for
// nobody.
constexpr std::size_t of_the_server = 64;
constexpr std::size_t of_a_loop = 4;
// Clients that are told at the same time that there is no room for them.
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
  // Where there are very few, half of them are for connections: most of what is reserved is seldom
  // used.
  const std::size_t room =
      std::max({descriptors - std::min(descriptors, reserved), descriptors / 2, std::size_t{1}});
  if (room >= wanted) return {wanted};
  return {room, "limits.connections_max is " + std::to_string(wanted) + ", but only " +
                    std::to_string(room) + " connections are let in: the process may open " +
                    std::to_string(descriptors) + " descriptors, of which " +
                    std::to_string(descriptors - room) +
                    " are kept for other things. Raise the hard limit (LimitNOFILE= of systemd, "
                    "ulimit -Hn, --ulimit nofile= of Docker) to " +
                    std::to_string(wanted + reserved) + ", or lower limits.connections_max"};
}

}  // namespace troupe::server::detail
