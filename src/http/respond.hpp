// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <troupe/http/request.hpp>
#include <troupe/http/session.hpp>

#include "beast.hpp"
#include "byte_share.hpp"
#include "request_parser.hpp"
#include "site.hpp"

namespace troupe::http::detail {

/// The response that accepts a WebSocket.
struct upgrade {
  request asked;                   // compact: it is kept as long as the WebSocket
  const session_factory* session;  // the site's
  std::string protocol;            // may be empty
  std::string answer;              // 101, whole
  /// Of limits::upgrade_requests_bytes; null: none is needed.
  std::unique_ptr<byte_share> share = {};
};

/// The bytes of each kept request that are not counted, so that a usual request is not refused
/// because others are large.
inline constexpr std::size_t own_request_bytes = 2 * 1024;

/// The handler that needs the body of this request; null if it is answered without the body.
///
/// Threads: any, concurrently.
[[nodiscard]] const handler* reader_of_body(const site& on, const request_head& asked);

/// Responds to one request by its route, a file or an error, and counts it. If reader_of_body()
/// returned a handler, the request has its body. The request is consumed.
///
/// Threads: any, at once. The route's handler runs here.
[[nodiscard]] std::variant<reply, upgrade> respond(const site& on, request_head& asked,
                                                   bool keep_alive);

/// 429: the client exceeds its rate of requests, and has to wait that long. It is not counted.
[[nodiscard]] reply respond_too_many(const site& on, const request_head& asked, bool keep_alive,
                                     duration wait);

/// A text that says what is wrong, after which the connection is closed. It is not counted.
/// `asked`: what was parsed of the request, or null.
[[nodiscard]] reply respond_error(const site& on, const refusal& what, const request_head* asked);

}  // namespace troupe::http::detail
