// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

// Dates as HTTP writes them (RFC 9110, 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT".

namespace troupe::http::detail {

using date = std::chrono::sys_seconds;

[[nodiscard]] std::string to_http_date(date when);

/// Nothing for every other format: the two obsolete ones have not been sent for decades.
[[nodiscard]] std::optional<date> parse_http_date(std::string_view text);

}  // namespace troupe::http::detail
