// SPDX-License-Identifier: Apache-2.0

// LuaJIT's own libraries, for trusted scripts: their steps are not counted. Excluded are functions
// that access files, other processes or memory (ffi, debug), and functions that accept bytecode,
// which is not verified.

#include "lua/libraries.hpp"

#include <initializer_list>
#include <lua.hpp>

namespace troupe::lua::detail {
namespace {

// load(chunk [, name [, mode [, env]]]): accepts text only. The original is the upvalue.
int load(lua_State* in) {
  if (lua_gettop(in) < 3) lua_settop(in, 3);
  lua_pushliteral(in, "t");
  lua_replace(in, 3);
  lua_pushvalue(in, lua_upvalueindex(1));
  lua_insert(in, 1);
  lua_call(in, lua_gettop(in) - 1, LUA_MULTRET);
  return lua_gettop(in);
}

// table.pack(…), which Lua 5.1 lacks.
int pack(lua_State* in) {
  const int count = lua_gettop(in);
  lua_createtable(in, count, 1);
  lua_insert(in, 1);
  for (int i = count; i >= 1; --i) lua_rawseti(in, 1, i);
  lua_pushinteger(in, count);
  lua_setfield(in, 1, "n");
  return 1;
}

void open(lua_State* of, const char* name, lua_CFunction library,
          std::initializer_list<const char*> left_out) {
  luaL_requiref(of, name, library, 1);
  for (const char* each : left_out) {
    lua_pushnil(of);
    lua_setfield(of, -2, each);
  }
}

}  // namespace

void open_libraries(lua_State* of) {
  open(of, "_G", luaopen_base, {"dofile", "loadfile", "print", "newproxy"});
  lua_getfield(of, -1, "load");
  lua_pushcclosure(of, load, 1);
  lua_pushvalue(of, -1);
  lua_setfield(of, -3, "load");
  lua_setfield(of, -2, "loadstring");
  open(of, LUA_MATHLIBNAME, luaopen_math, {});
  open(of, LUA_STRLIBNAME, luaopen_string, {"dump"});
  open(of, LUA_TABLIBNAME, luaopen_table, {});
  lua_getglobal(of, "unpack");
  lua_setfield(of, -2, "unpack");
  lua_pushcfunction(of, pack);
  lua_setfield(of, -2, "pack");
  open(of, LUA_BITLIBNAME, luaopen_bit, {});
  // This also initialises the compiler.
  open(of, LUA_JITLIBNAME, luaopen_jit, {"attach"});
  lua_pop(of, 6);
  open_coroutine(of);
  open_os(of);
  open_utf8(of);
}

}  // namespace troupe::lua::detail
