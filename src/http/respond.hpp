// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <troupe/http/request.hpp>
#include <troupe/http/session.hpp>

#include "beast.hpp"
#include "site.hpp"

namespace troupe::http::detail {

/// The answer to a request that asks for a WebSocket and may have it.
struct upgrade {
  request asked;
  const session_factory* session;  // the site's
  std::string protocol;            // may be empty
  std::string answer;              // 101, whole
};

/// Answers one request that has been read completely: by its route, a file or an error; that is
/// then counted. Its body is taken.
///
/// Threads: any, at once. The route's handler runs here.
[[nodiscard]] std::variant<reply, upgrade> respond(const site& on, parsed_request& asked,
                                                   std::string_view peer, bool keep_alive);

/// A text that says what is wrong, after which the connection is closed: for what has not become a
/// request. It is not counted.
[[nodiscard]] reply respond_error(const site& on, unsigned status, std::string_view why = {});

}  // namespace troupe::http::detail
