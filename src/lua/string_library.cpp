// SPDX-License-Identifier: Apache-2.0

#include <lua.hpp>

#include "libraries.hpp"

namespace troupe::lua::detail {

void open_string(lua_State* of) {
  luaL_requiref(of, LUA_STRLIBNAME, luaopen_string, 1);
  lua_pushnil(of);
  lua_setfield(of, -2, "dump");
  lua_pop(of, 1);
}

}  // namespace troupe::lua::detail
