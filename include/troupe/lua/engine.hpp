// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace troupe::lua {

/// Returns the name and version of the Lua engine: "Lua 5.4.4", or "LuaJIT 2.1.0-beta3".
[[nodiscard]] std::string_view engine_name() noexcept;

/// Returns whether limits are enforced against malicious scripts. LuaJIT is for trusted scripts
/// only; docs/guide/luajit.md says which limits it enforces.
[[nodiscard]] bool engine_contains() noexcept;

}  // namespace troupe::lua
