// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "http/utf8.hpp"

namespace troupe::lua::detail {

using http::detail::is_utf8;

/// Returns the longest beginning of a UTF-8 text that has at most that number of bytes and does not
/// end within a character.
[[nodiscard]] std::string_view beginning_of(std::string_view text, std::size_t bytes_max) noexcept;

}  // namespace troupe::lua::detail
