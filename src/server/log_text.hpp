// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <troupe/http/access.hpp>
#include <troupe/lua/log.hpp>

namespace troupe::server::detail {

/// The text of a line after the time. If it has several lines, those after the first are indented.
/// Other characters that could break a line or control a terminal are escaped, so no text of a
/// client or a script can look like another log line.
[[nodiscard]] std::string as_text(const lua::log_line& line);
[[nodiscard]] std::string as_text(const http::access& line);

/// The members of a JSON object, without its braces. Invalid UTF-8 is replaced.
[[nodiscard]] std::string as_json(const lua::log_line& line);
[[nodiscard]] std::string as_json(const http::access& line);

}  // namespace troupe::server::detail
