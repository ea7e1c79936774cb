// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace troupe::lua {

/// Which Lua this was built with: "Lua 5.4.4", or "LuaJIT 2.1.0-beta3".
[[nodiscard]] std::string_view engine_name() noexcept;

/// Whether limits hold against scripts that mean harm. LuaJIT is for scripts that are trusted: what holds there is in
/// docs/guide/luajit.md.
[[nodiscard]] bool engine_contains() noexcept;

}  // namespace troupe::lua
