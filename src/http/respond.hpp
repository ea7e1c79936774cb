// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <troupe/http/request.hpp>
#include <troupe/http/session.hpp>

#include "beast.hpp"
#include "request_parser.hpp"
#include "site.hpp"

namespace troupe::http::detail {

/// The response that accepts a WebSocket.
struct upgrade {
  request asked;
  const session_factory* session;  // the site's
  std::string protocol;            // may be empty
  std::string answer;              // 101, whole
};

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

/// A text that says what is wrong, after which the connection is closed. It is not counted.
/// `asked`: what was parsed of the request, or null.
[[nodiscard]] reply respond_error(const site& on, const refusal& what, const request_head* asked);

}  // namespace troupe::http::detail
