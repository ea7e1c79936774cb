// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <troupe/net/loop.hpp>
#include <troupe/net/socket.hpp>
#include <troupe/troupe.hpp>

namespace troupe::net {

/// Asks a listener to accept one more connection, which will be served on that loop.
struct accept {
  loop* onto;
};

/// A listener's reply, one for each `accept`.
struct accepted {
  loop* onto;
  socket connection;
};

/// Sent by a listener that lacks a descriptor or memory for the next connection. It retries by
/// itself.
struct accept_paused {
  error_code why;
};

namespace detail {
class reserved_accept;
}

class listener;

/// An `accept` message whose memory is reserved, so that an owner that lacks memory for the moment
/// does not stop accepting.
///
/// Threads: that of the listener's loop.
/// Errors:  of the constructor: std::bad_alloc.
class accept_request {
 public:
  accept_request();

  /// Asks for one more connection. Returns false, with no effect, if the previous request has not
  /// been handled yet.
  bool send(const ref<listener>& to, loop& onto) noexcept;

 private:
  std::shared_ptr<detail::reserved_accept> reserved_;  // a mailbox may outlive this object
};

/// Binds and listens. `address` is an address or a name; `port` 0 lets the system choose.
///
/// Errors: std::system_error, as "cannot listen on 127.0.0.1:8080: Address already in use".
[[nodiscard]] acceptor listen(io_context& on, const std::string& address, std::uint16_t port);

/// Accepts connections, one for each `accept` message; others wait in the kernel's backlog. So no
/// connections queue up between the listener and its owner.
///
/// When accepting fails for lack of descriptors or memory, the connection stays in the backlog and
/// would be reported again at once. The listener then waits for a while and sends accept_paused. The
/// memory for the next attempt is reserved. A connection is closed if there is no memory to pass it
/// to the owner.
///
/// Threads: must be bound to the loop whose io_context the acceptor was created with.
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
  void tell_paused(error_code why) noexcept;

  acceptor acceptor_;
  recipient<accepted, accept_paused> owner_;
  const std::shared_ptr<detail::reserved_accept> retry_;
};

}  // namespace troupe::net
