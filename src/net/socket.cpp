// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <troupe/net/socket.hpp>

namespace troupe::net {

bool socket::is_closed_by_peer() const noexcept {
  if (simulated_) return simulated_->is_closed_by_peer();
#ifdef POLLRDHUP
  constexpr short closed = POLLRDHUP;
#else
  constexpr short closed = 0;  // only a connection that is closed in both directions is noticed
#endif
  // native_handle() is not const, although it only reads the descriptor.
  pollfd one{const_cast<socket*>(this)->native_handle(), closed, 0};
  return asio_socket::is_open() && ::poll(&one, 1, 0) > 0 &&
         (one.revents & (closed | POLLHUP | POLLERR)) != 0;
}

}  // namespace troupe::net
