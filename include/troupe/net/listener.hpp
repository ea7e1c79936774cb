// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <troupe/net/loop.hpp>
#include <troupe/net/socket.hpp>
#include <troupe/troupe.hpp>

namespace troupe::net {

/// To a listener: take one more connection, for a life on that loop.
struct accept {
  loop* onto;
};

/// From a listener, one for each `accept`.
struct accepted {
  loop* onto;
  socket connection;
};

/// From a listener: no descriptor or no memory for the next connection. It tries again by itself.
struct accept_paused {
  error_code why;
};

/// Binds and listens. `address` is an address or a name, `port` 0 lets the system choose.
///
/// Errors: std::system_error, as "cannot listen on 127.0.0.1:8080: Address already in use".
[[nodiscard]] acceptor listen(io_context& on, const std::string& address, std::uint16_t port);

/// Takes connections, one for each time that it is asked to; others wait in the kernel's backlog.
/// So nothing piles up between it and its owner.
///
/// Where accepting fails for want of descriptors or memory, the connection stays in the backlog and
/// would be reported again at once: the listener then leaves it there for a while and says so.
///
/// Threads: must be bound to the loop whose io_context the acceptor was made with.
class listener : public actor {
 public:
  static constexpr std::chrono::milliseconds pause{100};

  listener(acceptor on, recipient<accepted, accept_paused> owner);

  struct arrived {
    loop* onto;
    error_code error;
    socket connection;
  };

  void on(accept m);
  void on(arrived m);

 private:
  acceptor acceptor_;
  recipient<accepted, accept_paused> owner_;
};

}  // namespace troupe::net
