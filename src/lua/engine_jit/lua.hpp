// SPDX-License-Identifier: Apache-2.0
#pragma once

// LuaJIT's own lua.hpp provides Lua 5.1. This file precedes it in the include path and adds what
// the rest of the layer uses of Lua 5.4, with the same meaning. A number counts as an integer here
// if it has no fraction and its absolute value is at most 2^53, so that a double represents it
// exactly.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

extern "C" {
// clang-format off: the other headers need the first one
#include <lauxlib.h>
#include <lua.h>
#include <luajit.h>
#include <lualib.h>
// clang-format on
}

using lua_Unsigned = std::size_t;
using lua_KContext = std::intptr_t;
using lua_KFunction = int (*)(lua_State*, int, lua_KContext);

inline constexpr lua_Integer LUA_MAXINTEGER = std::numeric_limits<lua_Integer>::max();
inline constexpr lua_Integer LUA_MININTEGER = std::numeric_limits<lua_Integer>::min();

// ── Missing from 5.1, or under another name there ─────────────────────────────────────────────

inline int lua_absindex(lua_State* in, int index) {
  return index > 0 || index <= LUA_REGISTRYINDEX ? index : lua_gettop(in) + index + 1;
}

inline std::size_t lua_rawlen(lua_State* in, int index) { return lua_objlen(in, index); }

inline int lua_rawgetp(lua_State* in, int table, const void* key) {
  table = lua_absindex(in, table);
  lua_pushlightuserdata(in, const_cast<void*>(key));
  lua_rawget(in, table);
  return lua_type(in, -1);
}

inline void lua_rawsetp(lua_State* in, int table, const void* key) {
  table = lua_absindex(in, table);
  lua_pushlightuserdata(in, const_cast<void*>(key));
  lua_insert(in, -2);
  lua_rawset(in, table);
}

// Supports one user value: it is kept in a table that becomes the userdata's environment.
inline void* lua_newuserdatauv(lua_State* in, std::size_t bytes, int values) {
  void* const made = lua_newuserdata(in, bytes);
  if (values > 0) {
    lua_createtable(in, 1, 0);
    lua_setfenv(in, -2);
  }
  return made;
}

inline int lua_getiuservalue(lua_State* in, int index, int which) {
  lua_getfenv(in, index);
  lua_rawgeti(in, -1, which);
  lua_remove(in, -2);
  return lua_type(in, -1);
}

inline int lua_setiuservalue(lua_State* in, int index, int which) {
  lua_getfenv(in, index);
  lua_insert(in, -2);
  lua_rawseti(in, -2, which);
  lua_pop(in, 1);
  return 1;
}

// The return value of `open` is not always the library.
inline void luaL_requiref(lua_State* in, const char* name, lua_CFunction open, int) {
  lua_pushcfunction(in, open);
  lua_pushstring(in, name);
  lua_call(in, 1, 0);
  lua_getglobal(in, name);
}

// There are no to-be-closed variables to close. The coroutine stays dead.
inline int lua_resetthread(lua_State*) { return LUA_OK; }

// ── Other arguments in 5.1 ────────────────────────────────────────────────────────────────────

inline int lua_resume(lua_State* which, lua_State*, int arguments, int* results) {
  const int status = lua_resume(which, arguments);
  *results = lua_gettop(which);
  return status;
}

// Collecting may rebuild the table of strings, which can fail.
inline int lua_gc(lua_State* in, int what) {
  const auto collect = [](lua_State* inside) {
    lua_gc(inside, static_cast<int>(reinterpret_cast<std::intptr_t>(lua_touserdata(inside, 1))), 0);
    return 0;
  };
  const int top = lua_gettop(in);
  const int status = lua_cpcall(in, collect, reinterpret_cast<void*>(std::intptr_t{what}));
  lua_settop(in, top);
  return status;
}

// ── Other results in 5.1 ──────────────────────────────────────────────────────────────────────

namespace troupe::lua::engine {

inline int getfield(lua_State* in, int index, const char* name) {
  lua_getfield(in, index, name);
  return lua_type(in, -1);
}
inline int rawget(lua_State* in, int index) {
  lua_rawget(in, index);
  return lua_type(in, -1);
}
// In 5.1 the parameter is an int.
inline bool is_int(lua_Integer which) noexcept {
  return which >= std::numeric_limits<int>::min() && which <= std::numeric_limits<int>::max();
}
inline int rawgeti(lua_State* in, int index, lua_Integer which) {
  if (is_int(which)) {
    lua_rawgeti(in, index, static_cast<int>(which));
  } else {
    index = lua_absindex(in, index);
    lua_pushinteger(in, which);
    lua_rawget(in, index);
  }
  return lua_type(in, -1);
}
inline void rawseti(lua_State* in, int index, lua_Integer which) {
  if (is_int(which)) return lua_rawseti(in, index, static_cast<int>(which));
  index = lua_absindex(in, index);
  lua_pushinteger(in, which);
  lua_insert(in, -2);
  lua_rawset(in, index);
}

/// 2^53: a double represents every integer up to this number.
inline constexpr lua_Number integer_most = 9'007'199'254'740'992.0;

/// Also returns false for -0, which an integer cannot represent.
inline bool is_integral(lua_Number value) noexcept {
  return std::fabs(value) <= integer_most && std::trunc(value) == value &&
         !(value == 0 && std::signbit(value));
}

inline lua_Integer tointegerx(lua_State* in, int index, int* is_integer) {
  const bool is_number = lua_isnumber(in, index) != 0;
  const lua_Number value = is_number ? lua_tonumber(in, index) : 0;
  const bool is_one = is_number && std::fabs(value) <= integer_most && std::trunc(value) == value;
  if (is_integer != nullptr) *is_integer = is_one ? 1 : 0;
  return is_one ? static_cast<lua_Integer>(value) : 0;
}

inline lua_Integer checkinteger(lua_State* in, int argument) {
  luaL_checknumber(in, argument);
  int is_integer = 0;
  const lua_Integer value = tointegerx(in, argument, &is_integer);
  if (is_integer == 0) luaL_argerror(in, argument, "number has no integer representation");
  return value;
}
inline lua_Integer optinteger(lua_State* in, int argument, lua_Integer otherwise) {
  return lua_isnoneornil(in, argument) ? otherwise : checkinteger(in, argument);
}

/// Returns the text that tostring() gives.
const char* to_string(lua_State* in, int index, std::size_t* size);

}  // namespace troupe::lua::engine

inline int lua_isinteger(lua_State* in, int index) {
  return lua_type(in, index) == LUA_TNUMBER &&
                 troupe::lua::engine::is_integral(lua_tonumber(in, index))
             ? 1
             : 0;
}

#define lua_getfield ::troupe::lua::engine::getfield
#define lua_rawget ::troupe::lua::engine::rawget
#define lua_rawgeti ::troupe::lua::engine::rawgeti
#define lua_rawseti ::troupe::lua::engine::rawseti
#define lua_tointegerx ::troupe::lua::engine::tointegerx
#define luaL_checkinteger ::troupe::lua::engine::checkinteger
#define luaL_optinteger ::troupe::lua::engine::optinteger
#define luaL_tolstring ::troupe::lua::engine::to_string
