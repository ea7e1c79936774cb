// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "http/utf8.hpp"

namespace troupe::lua::detail {

using http::detail::is_utf8;

/// The beginning of a UTF-8 text, of at most so many bytes, that does not end within a character.
[[nodiscard]] std::string_view beginning_of(std::string_view text, std::size_t bytes_max) noexcept;

}  // namespace troupe::lua::detail
