// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/beast/websocket/error.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <string_view>

#include <troupe/http/websocket.hpp>
#include <troupe/net/socket.hpp>

namespace troupe::http::detail {

/// As much of the text as fits into a close frame, cut between two characters.
[[nodiscard]] boost::beast::websocket::close_reason to_close_reason(const closed& from);

/// What a session is told of a close frame that the client sent.
[[nodiscard]] closed from_close_reason(const boost::beast::websocket::close_reason& from);

/// What a session is told of an error that ended reading or writing: the code that the codec has
/// sent for it, or 1006.
[[nodiscard]] closed from_error(const net::error_code& error);

}  // namespace troupe::http::detail
