// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <utility>

#include <troupe/net/socket.hpp>

namespace troupe::http::detail {

/// The bytes of a connection that this process has begun: those of the socket, or, once there is TLS, what
/// that says.
///
/// It has what the stages of a connection need of a socket. Its end of sending is TCP's: no close_notify
/// goes before it. Who reads knows by HTTP, or by a close frame, whether that was all; and says so of an
/// answer that ends with its connection (stream_truncated).
///
/// Threads: the loop's. Not to be moved while an operation is outstanding.
class outgoing_stream {
 public:
  using executor_type = net::socket::executor_type;
  using tls_stream = boost::asio::ssl::stream<net::socket&>;

  explicit outgoing_stream(net::socket socket)
      : socket_(std::make_unique<net::socket>(std::move(socket))) {}

  [[nodiscard]] net::socket& socket() noexcept { return *socket_; }
  [[nodiscard]] executor_type get_executor() noexcept { return socket_->get_executor(); }

  /// From now on. It has still to shake hands.
  tls_stream& begin_tls(boost::asio::ssl::context& with) {
    tls_ = std::make_unique<tls_stream>(*socket_, with);
    return *tls_;
  }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& into, Handler&& handler) {
    tls_ ? tls_->async_read_some(into, std::forward<Handler>(handler))
         : socket_->async_read_some(into, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& from, Handler&& handler) {
    tls_ ? tls_->async_write_some(from, std::forward<Handler>(handler))
         : socket_->async_write_some(from, std::forward<Handler>(handler));
  }

  void shutdown(net::socket::shutdown_type what, net::error_code& error) {
    socket_->shutdown(what, error);
  }
  void cancel(net::error_code& error) { socket_->cancel(error); }
  void close(net::error_code& error) { socket_->close(error); }
  template <class Option>
  void set_option(const Option& option, net::error_code& error) {
    socket_->set_option(option, error);
  }

 private:
  // Behind a pointer: TLS refers to the socket, wherever the stream is moved to.
  std::unique_ptr<net::socket> socket_;
  std::unique_ptr<tls_stream> tls_;
};

}  // namespace troupe::http::detail
