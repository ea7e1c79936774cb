// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

namespace troupe::net {

using boost::asio::io_context;
using boost::system::error_code;

using protocol = boost::asio::ip::tcp;

// The executor is that of an io_context and not any_io_executor: no type erasure between an
// operation and its completion.
using acceptor = boost::asio::basic_socket_acceptor<protocol, io_context::executor_type>;

/// Asio's stream socket. It is a class of its own so that it has a short name: types made with it
/// appear in reports of the runtime and in the compiler's messages.
class socket : public boost::asio::basic_stream_socket<protocol, io_context::executor_type> {
 public:
  using boost::asio::basic_stream_socket<protocol, io_context::executor_type>::basic_stream_socket;
  socket(boost::asio::basic_stream_socket<protocol, io_context::executor_type>&& other) noexcept
      : basic_stream_socket(std::move(other)) {}
};

}  // namespace troupe::net
