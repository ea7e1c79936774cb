// SPDX-License-Identifier: Apache-2.0

#include "libraries.hpp"

#include <lua.hpp>

namespace troupe::lua::detail {

void open_libraries(lua_State* of) {
  open_base(of);
  open_os(of);
  open_coroutine(of);
  open_string(of);
  open_table(of);
  luaL_requiref(of, LUA_MATHLIBNAME, luaopen_math, 1);
  lua_pop(of, 1);
  open_utf8(of);
}

}  // namespace troupe::lua::detail
