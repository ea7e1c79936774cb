// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <troupe/net/socket.hpp>

#include "rate_limiter.hpp"
#include "tally.hpp"
#include "tls_context.hpp"

namespace troupe::http::detail {

/// A waiter for a read or a write of a tls_socket.
class transfer {
 public:
  virtual ~transfer() = default;
  /// Completes the operation. Calls its handler at once or, if not `now`, posts it to the
  /// io_context.
  virtual void complete(std::unique_ptr<transfer> self, net::error_code error, std::size_t bytes,
                        bool now) = 0;

 protected:
  transfer() = default;
};

template <class Handler>
class transfer_of final : public transfer {
 public:
  using executor = net::socket::executor_type;

  transfer_of(Handler handler, const executor& of_socket)
      : handler_(std::move(handler)), otherwise_(of_socket) {}

  void complete(std::unique_ptr<transfer> self, net::error_code error, std::size_t bytes,
                bool now) override {
    const auto where = boost::asio::get_associated_executor(handler_, otherwise_);
    auto last = [handler = std::move(handler_), error, bytes]() mutable {
      std::move(handler)(error, bytes);
    };
    self.reset();  // the handler's next operation may reuse this memory
    now ? boost::asio::dispatch(where, std::move(last)) : boost::asio::post(where, std::move(last));
  }

 private:
  Handler handler_;
  const executor otherwise_;
};

/// A socket whose bytes pass through a tls_engine. To the code above it is a stream like
/// net::socket.
///
/// The first operation starts the handshake, so a limit on its time also limits the handshake's.
/// One read and one write may be outstanding at a time. close() sends TLS's close_notify if the
/// kernel takes it at once, unless linger(0) was set before. shutdown() sends it too, after pending
/// output.
///
/// A write completes when the kernel has taken all of its records. An end without a close_notify is
/// the error tls_errc::truncated.
///
/// A server that receives plain HTTP replies with 400 in plain HTTP. That response, or the alert of
/// a failed handshake, would be lost if unread bytes turned closing into a reset. The socket is
/// therefore read until the client has closed it or until this one is closed; only then does the
/// operation fail.
///
/// Threads: the loop's. It may be moved while operations are outstanding.
/// Cost:    an idle connection keeps only OpenSSL's own state and 576 bytes to read into.
class tls_socket {
 public:
  using executor_type = net::socket::executor_type;

  /// `counts` stays until close(), or is null; `name` is a client's server. `quota` stays as long.
  /// It is asked when the first bytes have come; without a handshake left, the operation fails.
  tls_socket(net::socket on, std::shared_ptr<const tls_context> by, tls_tally* counts,
             std::string name = {}, handshake_quota quota = {});
  tls_socket(tls_socket&&) noexcept = default;
  tls_socket& operator=(tls_socket&&) = delete;
  /// Closes with a reset, without a close_notify.
  ~tls_socket();

  [[nodiscard]] executor_type get_executor() noexcept { return executor_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(net::error_code, std::size_t)>(
        [this](auto handler, const Buffers& into) {
          read(net::detail::first_of(into), waiting(std::move(handler)));
        },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(net::error_code, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          std::array<boost::asio::const_buffer, 16> some;
          std::size_t count = 0;
          for (auto each = boost::asio::buffer_sequence_begin(from);
               each != boost::asio::buffer_sequence_end(from) && count != some.size(); ++each) {
            some[count++] = *each;
          }
          write({some.data(), count}, waiting(std::move(handler)));
        },
        token, buffers);
  }

  void shutdown(boost::asio::socket_base::shutdown_type what, net::error_code& error);
  /// Cancels the waiting operations. The socket's own operations continue.
  void cancel(net::error_code& error);
  void close(net::error_code& error);
  void set_option(const boost::asio::socket_base::linger& option, net::error_code& error);

  /// As for net::socket: a close_notify alone does not count.
  [[nodiscard]] bool is_closed_by_peer() const noexcept;

  /// The handshake is complete.
  [[nodiscard]] bool is_established() const noexcept;

 private:
  class core;

  template <class Handler>
  std::unique_ptr<transfer> waiting(Handler handler) {
    return std::make_unique<transfer_of<Handler>>(std::move(handler), executor_);
  }
  void read(boost::asio::mutable_buffer into, std::unique_ptr<transfer> who);
  void write(std::span<const boost::asio::const_buffer> from, std::unique_ptr<transfer> who);

  executor_type executor_;
  std::shared_ptr<core> core_;
};

}  // namespace troupe::http::detail
