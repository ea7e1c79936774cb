// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>

namespace troupe::lua::detail {

/// string.find, match, gmatch and gsub. They spend their steps.
int string_find(lua_State* in);
int string_match(lua_State* in);
int string_gmatch(lua_State* in);
int string_gsub(lua_State* in);

}  // namespace troupe::lua::detail
