// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/socket_base.hpp>
#include <cstddef>
#include <memory>

#include <troupe/net/socket.hpp>

namespace troupe::http::detail {

/// Announces the end of sending, then reads and discards data until the peer has closed too.
///
/// A socket that is closed with unread bytes in it resets the connection, and a reset overtakes
/// data that was sent before. The peer might then never read why the connection was closed. The
/// operation completes without an error, and not before the peer closes. The caller therefore sets
/// a deadline, and closes the socket then.
template <class Stream, class Token>
auto async_linger(Stream& stream, Token&& token) {
  using scratch = std::array<char, 2048>;
  net::error_code ignored;  // if this fails, reading does too
  stream.shutdown(boost::asio::socket_base::shutdown_send, ignored);
  return boost::asio::async_compose<Token, void(net::error_code)>(
      [&stream, into = std::make_unique<scratch>()](auto& operation, net::error_code error = {},
                                                    std::size_t = 0) mutable {
        if (error) return operation.complete({});
        const auto buffer = boost::asio::buffer(*into);
        stream.async_read_some(buffer, std::move(operation));
      },
      token, stream);
}

}  // namespace troupe::http::detail
