// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace troupe::http::detail {

/// Returns true for the bytes of a cookie's value (RFC 6265, 4.1.1), without quotes around it.
[[nodiscard]] bool is_cookie_value(std::string_view text) noexcept;

/// The value of the first cookie of this name in one line of the header Cookie, as it was sent. A
/// pair that is not as RFC 6265, 4.2.1, defines it is skipped: another host of the domain may have
/// set it.
///
/// Cost: linear in the line; no memory.
[[nodiscard]] std::optional<std::string_view> find_cookie(std::string_view line,
                                                          std::string_view name) noexcept;

}  // namespace troupe::http::detail
