// SPDX-License-Identifier: Apache-2.0

// Lua's utf8 library. It spends steps for the bytes that it reads.

#include <lua.hpp>

#include "governor.hpp"
#include "libraries.hpp"
#include "metered_functions.hpp"

namespace troupe::lua::detail {
namespace {

std::size_t distance(lua_Integer from, lua_Integer to) {
  return static_cast<std::size_t>(from < to ? to - from : from - to);
}

int makes_character(lua_State* in) {
  governor::of(in).spend(in, static_cast<std::size_t>(lua_gettop(in)));
  return call_original(in);
}

int codepoint(lua_State* in) {
  const int results = call_original_reading(in, 1);
  governor::of(in).spend(in, static_cast<std::size_t>(results));
  return results;
}

// The last result is the number of characters, or the position of the first invalid byte.
int len(lua_State* in) {
  const int results = call_original(in);
  governor::of(in).spend(in, static_cast<std::size_t>(lua_tointeger(in, -1)));
  return results;
}

int offset(lua_State* in) {
  const int results = call_original(in);
  if (lua_isnil(in, -1)) {
    spend_string(in, 1);
  } else {
    const auto size = static_cast<lua_Integer>(lua_rawlen(in, 1));
    lua_Integer from = luaL_optinteger(in, 3, lua_tointeger(in, 2) >= 0 ? 1 : size + 1);
    if (from < 0) from += size + 1;
    spend_bytes(in, distance(from, lua_tointeger(in, -1)));
  }
  return results;
}

// The iterator of codes(): (string, start of the previous character) → start of the next character,
// and its code. It skips the continuation bytes of the previous character, of which there may be
// any number.
int next_code(lua_State* in) {
  const int results = call_original_reading(in, 1);
  if (results == 0) {
    spend_string(in, 1);
  } else {
    spend_bytes(in, distance(lua_tointeger(in, 2), lua_tointeger(in, -results)));
  }
  return results;
}

// Upvalues: the original, and the iterators that replace its own.
int codes(lua_State* in) {
  const bool lax = lua_toboolean(in, 2) != 0;
  const int results = call_original(in);
  lua_pushvalue(in, lua_upvalueindex(lax ? 3 : 2));
  lua_replace(in, -results - 1);
  return results;
}

// Expects the library on top of the stack.
void push_iterator(lua_State* in, bool lax) {
  lua_getfield(in, -1, "codes");
  lua_pushliteral(in, "");
  lua_pushboolean(in, lax);
  lua_call(in, 2, 1);
  lua_pushcclosure(in, next_code, 1);
  lua_insert(in, -2);
}

}  // namespace

void open_utf8(lua_State* of) {
  luaL_requiref(of, LUA_UTF8LIBNAME, luaopen_utf8, 1);
  push_iterator(of, false);
  push_iterator(of, true);
  lua_getfield(of, -1, "codes");
  lua_pushvalue(of, -4);
  lua_pushvalue(of, -4);
  lua_pushcclosure(of, codes, 3);
  lua_setfield(of, -2, "codes");
  spend_for(of, "char", makes_character);
  spend_for(of, "codepoint", codepoint);
  spend_for(of, "len", len);
  spend_for(of, "offset", offset);
  lua_pop(of, 3);
}

}  // namespace troupe::lua::detail
