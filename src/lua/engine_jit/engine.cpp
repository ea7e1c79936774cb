// SPDX-License-Identifier: Apache-2.0

#include <troupe/lua/engine.hpp>

#include <lua.hpp>

namespace troupe::lua {

std::string_view engine_name() noexcept { return LUAJIT_VERSION; }
bool engine_contains() noexcept { return false; }

namespace engine {

const char* to_string(lua_State* in, int index, std::size_t* size) {
  index = lua_absindex(in, index);
  if (luaL_callmeta(in, index, "__tostring") != 0) {
    if (lua_isstring(in, -1) == 0) luaL_error(in, "'__tostring' must return a string");
    return lua_tolstring(in, -1, size);
  }
  switch (lua_type(in, index)) {
    case LUA_TNUMBER:
    case LUA_TSTRING:
      lua_pushvalue(in, index);
      break;
    case LUA_TBOOLEAN:
      lua_pushstring(in, lua_toboolean(in, index) != 0 ? "true" : "false");
      break;
    case LUA_TNIL:
      lua_pushliteral(in, "nil");
      break;
    default: {
      const bool is_named = luaL_getmetafield(in, index, "__name") != 0;
      const bool has_name = is_named && lua_type(in, -1) == LUA_TSTRING;
      const char* const kind = has_name ? lua_tostring(in, -1) : luaL_typename(in, index);
      lua_pushfstring(in, "%s: %p", kind, lua_topointer(in, index));
      if (is_named) lua_remove(in, -2);
    }
  }
  return lua_tolstring(in, -1, size);
}

}  // namespace engine
}  // namespace troupe::lua
