// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "character_set.hpp"

namespace troupe::lua::detail {

/// Sets in patterns: [abc], [^a-z%d]. `set` points to the opening bracket, `after` past the closing
/// one.
[[nodiscard]] bool is_in_set(char c, const char* set, const char* after) noexcept;
[[nodiscard]] character_set set_of(const char* set, const char* after) noexcept;

}  // namespace troupe::lua::detail
