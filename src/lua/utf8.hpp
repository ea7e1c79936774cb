// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace troupe::lua::detail {

/// As RFC 3629 has it: nothing overlong, no surrogates, nothing beyond U+10FFFF.
///
/// Cost: eight bytes of ASCII at once; others one by one.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// The beginning of a UTF-8 text, of at most so many bytes, that does not end within a character.
[[nodiscard]] std::string_view beginning_of(std::string_view text, std::size_t bytes_max) noexcept;

}  // namespace troupe::lua::detail
