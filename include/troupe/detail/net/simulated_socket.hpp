// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

// The implementation of sockets and acceptors in a simulation.

namespace troupe::net::detail {

using boost::system::error_code;
using endpoint = boost::asio::ip::tcp::endpoint;

/// Called when an operation completes: once, or never if its io_context is destroyed first. The
/// handler itself is posted to the io_context and runs after the handlers already waiting there.
template <class... Results>
class completion {
 public:
  virtual ~completion() = default;
  virtual void operator()(error_code error, Results... results) = 0;

 protected:
  completion() = default;
};

template <class Handler, class... Results>
class completion_of final : public completion<Results...> {
 public:
  using executor = boost::asio::io_context::executor_type;

  completion_of(Handler handler, const executor& of_socket)
      : handler_(std::move(handler)), work_(of_socket) {}

  void operator()(error_code error, Results... results) override {
    const auto where = boost::asio::get_associated_executor(handler_, work_.get_executor());
    boost::asio::post(
        where, [handler = std::move(handler_), error, ... results = std::move(results)]() mutable {
          std::move(handler)(error, std::move(results)...);
        });
    work_.reset();
  }

 private:
  Handler handler_;
  boost::asio::executor_work_guard<executor> work_;
};

template <class... Results, class Handler>
[[nodiscard]] std::unique_ptr<completion<Results...>> completing(
    Handler handler, const boost::asio::io_context::executor_type& of_socket) {
  return std::make_unique<completion_of<Handler, Results...>>(std::move(handler), of_socket);
}

/// One end of a connection of a simulated_network, maybe not yet connected. Its destructor closes
/// it.
///
/// Threads: the simulation's.
class simulated_socket {
 public:
  using transferred = std::unique_ptr<completion<std::size_t>>;

  virtual ~simulated_socket() = default;

  virtual void connect(const endpoint& to, std::unique_ptr<completion<>> done) = 0;
  virtual void bind(const endpoint& at, error_code& error) = 0;
  virtual void read(boost::asio::mutable_buffer into, transferred done) = 0;
  virtual void write(std::span<const boost::asio::const_buffer> from, transferred done) = 0;

  virtual void shutdown(boost::asio::socket_base::shutdown_type what, error_code& error) = 0;
  virtual void cancel() = 0;
  virtual void close() = 0;
  /// With true, close() resets the connection.
  virtual void closes_hard(bool it_does) = 0;

  [[nodiscard]] virtual bool is_open() const = 0;
  [[nodiscard]] virtual bool is_closed_by_peer() const = 0;
  [[nodiscard]] virtual endpoint local(error_code& error) const = 0;
  [[nodiscard]] virtual endpoint remote(error_code& error) const = 0;

 protected:
  simulated_socket() = default;
};

class simulated_acceptor {
 public:
  using accepted = std::unique_ptr<completion<std::unique_ptr<simulated_socket>>>;

  virtual ~simulated_acceptor() = default;

  /// Accepts the next connection, which will complete its operations on `onto`.
  virtual void accept(boost::asio::io_context& onto, accepted done) = 0;
  virtual void cancel() = 0;
  virtual void close() = 0;
  [[nodiscard]] virtual endpoint local() const = 0;

 protected:
  simulated_acceptor() = default;
};

/// Creates a socket in the simulated_network of this thread; null: there is no simulation. Throws
/// std::logic_error if there is a simulation without a network.
[[nodiscard]] std::unique_ptr<simulated_socket> simulated_socket_on(boost::asio::io_context& on);

/// The first buffer that is not empty, or an empty buffer.
template <class Buffers>
[[nodiscard]] boost::asio::mutable_buffer first_of(const Buffers& all) {
  for (auto each = boost::asio::buffer_sequence_begin(all);
       each != boost::asio::buffer_sequence_end(all); ++each) {
    const boost::asio::mutable_buffer one(*each);
    if (one.size() != 0) return one;
  }
  return {};
}

}  // namespace troupe::net::detail
