// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <boost/asio/async_result.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <troupe/detail/net/simulated_socket.hpp>

namespace troupe::net {

using boost::asio::io_context;
using boost::system::error_code;

using protocol = boost::asio::ip::tcp;

// The executor type is that of io_context and not any_io_executor, which avoids type erasure
// between an operation and its completion.
using asio_socket = boost::asio::basic_stream_socket<protocol, io_context::executor_type>;
using asio_acceptor = boost::asio::basic_socket_acceptor<protocol, io_context::executor_type>;

/// Asio's stream socket; in a simulation, a socket of its simulated_network. The operations
/// declared here work in both: asynchronous operations, shutdown, cancel, close and endpoints;
/// options are accepted. Other operations are Asio's and find no open socket in a simulation.
///
/// Cost: outside of simulations one pointer test per operation.
class socket : public asio_socket {
 public:
  using asio_socket::asio_socket;
  using asio_socket::lowest_layer_type;
  socket(asio_socket&& other) noexcept : asio_socket(std::move(other)) {}
  socket(io_context& on, std::unique_ptr<detail::simulated_socket> simulated)
      : asio_socket(on), simulated_(std::move(simulated)) {}

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const Buffers& into) {
          if (!simulated_) [[likely]] {
            return void(asio_socket::async_read_some(into, std::move(handler)));
          }
          simulated_->read(detail::first_of(into),
                           detail::completing<std::size_t>(std::move(handler), get_executor()));
        },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          if (!simulated_) [[likely]] {
            return void(asio_socket::async_write_some(from, std::move(handler)));
          }
          std::array<boost::asio::const_buffer, 16> some;
          std::size_t count = 0;
          for (auto each = boost::asio::buffer_sequence_begin(from);
               each != boost::asio::buffer_sequence_end(from) && count != some.size(); ++each) {
            some[count++] = *each;
          }
          simulated_->write({some.data(), count},
                            detail::completing<std::size_t>(std::move(handler), get_executor()));
        },
        token, buffers);
  }

  /// Connects the socket; in a simulation, to a listener in the simulated network.
  template <class Token>
  auto async_connect(const protocol::endpoint& to, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code)>(
        [this](auto handler, const protocol::endpoint& where) {
          if (!simulated_) simulated_ = detail::simulated_socket_on(get_executor().context());
          if (!simulated_) [[likely]] {
            return void(asio_socket::async_connect(where, std::move(handler)));
          }
          simulated_->connect(where, detail::completing<>(std::move(handler), get_executor()));
        },
        token, to);
  }

  /// Binds the socket to an address; in a simulation, every address counts as an address of the
  /// host.
  void bind(const protocol::endpoint& at, error_code& error) {
    if (!simulated_) simulated_ = detail::simulated_socket_on(get_executor().context());
    simulated_ ? simulated_->bind(at, error) : void(asio_socket::bind(at, error));
  }

  void shutdown(shutdown_type what, error_code& error) {
    simulated_ ? simulated_->shutdown(what, error) : void(asio_socket::shutdown(what, error));
  }
  void cancel(error_code& error) {
    if (!simulated_) return void(asio_socket::cancel(error));
    error = {};
    simulated_->cancel();
  }
  void close(error_code& error) {
    if (!simulated_) return void(asio_socket::close(error));
    error = {};
    simulated_.reset();  // so that it may connect again
  }
  [[nodiscard]] bool is_open() const {
    return simulated_ ? simulated_->is_open() : asio_socket::is_open();
  }
  /// Returns true if the peer has closed the connection or its sending direction, or if the
  /// connection has failed. Received data may still be unread. For connections that are not read at
  /// the moment: a read would report this only after that data.
  /// Cost: a system call.
  [[nodiscard]] bool is_closed_by_peer() const noexcept;
  [[nodiscard]] protocol::endpoint local_endpoint(error_code& error) const {
    return simulated_ ? simulated_->local(error) : asio_socket::local_endpoint(error);
  }
  [[nodiscard]] protocol::endpoint remote_endpoint(error_code& error) const {
    return simulated_ ? simulated_->remote(error) : asio_socket::remote_endpoint(error);
  }

  template <class Option>
  void set_option(const Option& option, error_code& error) {
    if (!simulated_) return void(asio_socket::set_option(option, error));
    error = {};
    if constexpr (std::is_same_v<Option, linger>) {
      simulated_->closes_hard(option.enabled() && option.timeout() == 0);
    }
  }

 private:
  std::unique_ptr<detail::simulated_socket> simulated_;  // usually null
};

/// Asio's acceptor; in a simulation, a listener in its simulated_network.
class acceptor : public asio_acceptor {
 public:
  using asio_acceptor::asio_acceptor;
  acceptor(io_context& on, std::unique_ptr<detail::simulated_acceptor> simulated)
      : asio_acceptor(on), simulated_(std::move(simulated)) {}

  /// Accepts the next connection. `onto` is the io_context of the new connection. The handler takes
  /// an error_code and a socket.
  template <class Handler>
  void async_accept(io_context& onto, Handler handler) {
    if (!simulated_) [[likely]] {
      asio_acceptor::async_accept(onto.get_executor(), std::move(handler));
      return;
    }
    auto with_socket = [handler = std::move(handler), &onto](
                           error_code error,
                           std::unique_ptr<detail::simulated_socket> connection) mutable {
      std::move(handler)(error, socket(onto, std::move(connection)));
    };
    simulated_->accept(onto, detail::completing<std::unique_ptr<detail::simulated_socket>>(
                                 std::move(with_socket), get_executor()));
  }

  void cancel(error_code& error) {
    if (!simulated_) return void(asio_acceptor::cancel(error));
    error = {};
    simulated_->cancel();
  }
  void close(error_code& error) {
    if (!simulated_) return void(asio_acceptor::close(error));
    error = {};
    simulated_->close();
  }
  [[nodiscard]] protocol::endpoint local_endpoint() const {
    return simulated_ ? simulated_->local() : asio_acceptor::local_endpoint();
  }

 private:
  std::unique_ptr<detail::simulated_acceptor> simulated_;  // usually null
};

}  // namespace troupe::net
