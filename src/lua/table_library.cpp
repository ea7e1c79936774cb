// SPDX-License-Identifier: Apache-2.0

#include <lua.hpp>

#include "libraries.hpp"

namespace troupe::lua::detail {

void open_table(lua_State* of) {
  luaL_requiref(of, LUA_TABLIBNAME, luaopen_table, 1);
  lua_pop(of, 1);
}

}  // namespace troupe::lua::detail
