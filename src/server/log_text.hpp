// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <troupe/http/access.hpp>
#include <troupe/lua/log.hpp>

namespace troupe::server::detail {

/// What stands in a line behind the time. Of several lines, those after the first are indented; what else could break a
/// line or a terminal is escaped, so nothing that a client or a script says looks like another line.
[[nodiscard]] std::string as_text(const lua::log_line& line);
[[nodiscard]] std::string as_text(const http::access& line);

/// The members of a JSON object, without its braces. What is no UTF-8 is replaced.
[[nodiscard]] std::string as_json(const lua::log_line& line);
[[nodiscard]] std::string as_json(const http::access& line);

}  // namespace troupe::server::detail
