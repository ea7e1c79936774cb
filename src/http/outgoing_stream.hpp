// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <utility>

#include <troupe/net/socket.hpp>

namespace troupe::http::detail {

/// The bytes of a connection that this process has opened: those of the socket or, with TLS, the
/// plaintext.
///
/// It has the functions that the stages of a connection require of a socket. It ends sending as TCP
/// does, without a close_notify. The reader knows by HTTP, or by a close frame, whether the data is
/// complete. If a response ends with its connection and without a close_notify, reading reports
/// stream_truncated.
///
/// Threads: the loop's. It must not be moved while an operation is outstanding.
class outgoing_stream {
 public:
  using executor_type = net::socket::executor_type;
  using tls_stream = boost::asio::ssl::stream<net::socket&>;

  explicit outgoing_stream(net::socket socket)
      : socket_(std::make_unique<net::socket>(std::move(socket))) {}

  [[nodiscard]] net::socket& socket() noexcept { return *socket_; }
  [[nodiscard]] executor_type get_executor() noexcept { return socket_->get_executor(); }

  /// Uses TLS from now on. The handshake is still to be done.
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
  // Behind a pointer, because TLS refers to the socket even after the stream has moved.
  std::unique_ptr<net::socket> socket_;
  std::unique_ptr<tls_stream> tls_;
};

}  // namespace troupe::http::detail
