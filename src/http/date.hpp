// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <troupe/base/clock.hpp>

// Dates as HTTP writes them (RFC 9110, 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT".

namespace troupe::http::detail {

using date = std::chrono::sys_seconds;

[[nodiscard]] std::string to_http_date(date when);

/// Also reads the two obsolete formats: "Sunday, 06-Nov-94 08:49:37 GMT" and "Sun Nov  6 08:49:37
/// 1994". Returns nothing for every other format. A year of two digits is at most 50 years after
/// `now`.
[[nodiscard]] std::optional<date> parse_http_date(
    std::string_view text, date now = std::chrono::floor<std::chrono::seconds>(wall_clock::now()));

}  // namespace troupe::http::detail
