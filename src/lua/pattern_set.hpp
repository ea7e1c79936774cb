// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "character_set.hpp"

namespace troupe::lua::detail {

/// Sets as patterns have them: [abc], [^a-z%d]. `set` is at the bracket that opens, `after` behind the one that closes.
[[nodiscard]] bool is_in_set(char c, const char* set, const char* after) noexcept;
[[nodiscard]] character_set set_of(const char* set, const char* after) noexcept;

}  // namespace troupe::lua::detail
