// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <lua.hpp>

#include "governor.hpp"

namespace troupe::lua::detail {

/// For what reads or writes so many bytes in one go.
inline void spend_bytes(lua_State* by, std::size_t bytes) {
  governor::of(by).spend(by, bytes / 8 + 1);
}

/// The same for the string at an index, if there is one; numbers are none.
inline void spend_string(lua_State* by, int index) {
  if (lua_type(by, index) == LUA_TSTRING) spend_bytes(by, lua_rawlen(by, index));
}

/// A function for Lua: what it throws becomes an error of Lua's, whose own go on.
template <lua_CFunction Function>
int function(lua_State* in) {
  try {
    return Function(in);
  } catch (const std::exception& e) {
    return luaL_error(in, "%s", e.what());
  }
}

/// With a library on top: puts `spending` in the place of Lua's own function of that name, which it calls by
/// call_original(), in the same frame, so that errors name both as before.
inline void spend_for(lua_State* in, const char* name, lua_CFunction spending) {
  lua_getfield(in, -1, name);
  lua_pushcclosure(in, spending, 1);
  lua_setfield(in, -2, name);
}

inline int call_original(lua_State* in) { return lua_tocfunction(in, lua_upvalueindex(1))(in); }

/// The same, of what may have read the string at an index to its end before it has raised an error.
inline int call_original_reading(lua_State* in, int index) {
  try {
    return call_original(in);
  } catch (...) {
    spend_string(in, index);
    throw;
  }
}

}  // namespace troupe::lua::detail
