// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <lua.hpp>

#include "governor.hpp"

namespace troupe::lua::detail {

/// For functions that read or write that number of bytes in one call.
inline void spend_bytes(lua_State* by, std::size_t bytes) {
  governor::of(by).spend(by, bytes / 8 + 1);
}

/// The same for the string at an index, if it is a string; numbers do not count.
inline void spend_string(lua_State* by, int index) {
  if (lua_type(by, index) == LUA_TSTRING) spend_bytes(by, lua_rawlen(by, index));
}

/// Makes a function for Lua. C++ exceptions become Lua errors; Lua's own errors pass through.
template <lua_CFunction Function>
int function(lua_State* in) {
  try {
    return Function(in);
  } catch (const std::exception& e) {
    return luaL_error(in, "%s", e.what());
  }
}

/// Expects a library on top of the stack. Replaces Lua's function of that name with `spending`,
/// which calls the original by call_original(). Both run in the same frame, so error messages name
/// the function as before.
inline void spend_for(lua_State* in, const char* name, lua_CFunction spending) {
  lua_getfield(in, -1, name);
  lua_pushcclosure(in, spending, 1);
  lua_setfield(in, -2, name);
}

inline int call_original(lua_State* in) { return lua_tocfunction(in, lua_upvalueindex(1))(in); }

/// The same for a function that may have read the whole string at an index before it raised an
/// error.
inline int call_original_reading(lua_State* in, int index) {
  try {
    return call_original(in);
  } catch (...) {
    spend_string(in, index);
    throw;
  }
}

}  // namespace troupe::lua::detail
