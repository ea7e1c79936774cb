// SPDX-License-Identifier: Apache-2.0

#include <troupe/lua/engine.hpp>

#include <lua.hpp>

namespace troupe::lua {

std::string_view engine_name() noexcept { return LUA_RELEASE; }
bool engine_contains() noexcept { return true; }

}  // namespace troupe::lua
