// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <lua.hpp>

#include <troupe/base/clock.hpp>

#include "governor.hpp"
#include "libraries.hpp"

namespace troupe::lua::detail {
namespace {

// ── Protected calls ───────────────────────────────────────────────────────────────────────────
// Lua's own, but that a killed run goes through them.

int end_protected_call(lua_State* in, int status, lua_KContext below) {
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(in) - static_cast<int>(below);
  governor::of(in).caught(in, status);
  lua_pushboolean(in, 0);
  lua_insert(in, -2);
  return 2;
}

int pcall(lua_State* in) {
  luaL_checkany(in, 1);
  lua_pushboolean(in, 1);
  lua_insert(in, 1);
  const int status = lua_pcallk(in, lua_gettop(in) - 2, LUA_MULTRET, 0, 0, end_protected_call);
  return end_protected_call(in, status, 0);
}

// Calls the script's handler, the upvalue, with the error; but not for a run that is killed: that error comes out
// of a hook, and no hook would look at the handler.
int handle_error(lua_State* in) {
  if (governor::of(in).killed()) return 1;
  lua_pushvalue(in, lua_upvalueindex(1));
  lua_insert(in, 1);
  lua_call(in, 1, 1);
  return 1;
}

int xpcall(lua_State* in) {
  luaL_checktype(in, 2, LUA_TFUNCTION);
  lua_pushvalue(in, 2);
  lua_pushcclosure(in, handle_error, 1);
  lua_replace(in, 2);
  const int arguments = lua_gettop(in) - 2;
  // function, handler, arguments… → function, handler, true, function, arguments…
  lua_pushboolean(in, 1);
  lua_pushvalue(in, 1);
  lua_rotate(in, 3, 2);
  const int status = lua_pcallk(in, arguments, LUA_MULTRET, 2, 2, end_protected_call);
  return end_protected_call(in, status, 2);
}

// ── What is less than Lua's own ───────────────────────────────────────────────────────────────

// load(chunk [, name [, mode [, env]]]), of text alone. The original is the upvalue.
int load(lua_State* in) {
  luaL_checkany(in, 1);
  if (lua_gettop(in) < 3) lua_settop(in, 3);
  lua_pushliteral(in, "t");
  lua_replace(in, 3);
  lua_pushvalue(in, lua_upvalueindex(1));
  lua_insert(in, 1);
  lua_call(in, lua_gettop(in) - 1, LUA_MULTRET);
  governor::of(in).raise_if_killed(
      in);  // it calls a function for pieces of the text, and catches what that raises
  return lua_gettop(in);
}

// Lua sees whether there is a finaliser when a metatable is set, and not later.
int setmetatable(lua_State* in) {
  if (lua_istable(in, 2)) {
    lua_pushliteral(in, "__gc");
    if (lua_rawget(in, 2) != LUA_TNIL) {
      return luaL_error(
          in,
          "setmetatable: finalisers (__gc) are not for applications; use a variable with <close>");
    }
    lua_pop(in, 1);
  }
  lua_pushvalue(in, lua_upvalueindex(1));
  lua_insert(in, 1);
  lua_call(in, lua_gettop(in) - 1, 1);
  return 1;
}

int collectgarbage(lua_State* in) {
  static const char* const allowed[] = {"count", nullptr};
  luaL_checkoption(in, 1, nullptr, allowed);
  lua_pushnumber(in, static_cast<lua_Number>(governor::of(in).memory()) / 1024);
  return 1;
}

// os.time() of this moment; of a table it is the original, the upvalue.
int time(lua_State* in) {
  if (lua_isnoneornil(in, 1)) {
    lua_pushinteger(in, std::chrono::system_clock::to_time_t(wall_clock::now()));
    return 1;
  }
  lua_pushvalue(in, lua_upvalueindex(1));
  lua_insert(in, 1);
  lua_call(in, lua_gettop(in) - 1, 1);
  return 1;
}

// os.date([format [, time]]): the time is this moment's unless given. The original is the upvalue.
int date(lua_State* in) {
  const char* const format = luaL_optstring(in, 1, "%c");
  const lua_Integer when =
      luaL_optinteger(in, 2, std::chrono::system_clock::to_time_t(wall_clock::now()));
  lua_pushvalue(in, lua_upvalueindex(1));
  lua_pushstring(in, format);
  lua_pushinteger(in, when);
  lua_call(in, 2, 1);
  return 1;
}

// Seconds of a clock that only goes forward.
int clock_seconds(lua_State* in) {
  lua_pushnumber(in, std::chrono::duration<lua_Number>(clock::now().time_since_epoch()).count());
  return 1;
}

// With the library on top: puts `function` in the place of what has that name, which it gets as an upvalue.
void wrap(lua_State* in, const char* name, lua_CFunction function) {
  lua_getfield(in, -1, name);
  lua_pushcclosure(in, function, 1);
  lua_setfield(in, -2, name);
}

void forbid(lua_State* in, const char* name) {
  lua_pushnil(in);
  lua_setfield(in, -2, name);
}

}  // namespace

void open_base(lua_State* of) {
  luaL_requiref(of, LUA_GNAME, luaopen_base, 1);
  constexpr luaL_Reg replaced[] = {
      {"pcall", pcall}, {"xpcall", xpcall}, {"collectgarbage", collectgarbage}, {nullptr, nullptr}};
  luaL_setfuncs(of, replaced, 0);
  wrap(of, "load", load);
  wrap(of, "setmetatable", setmetatable);
  for (const char* name : {"dofile", "loadfile", "print", "warn"}) forbid(of, name);
  lua_pop(of, 1);

  luaL_requiref(of, LUA_OSLIBNAME, luaopen_os, 1);
  wrap(of, "time", time);
  wrap(of, "date", date);
  lua_pushcfunction(of, clock_seconds);
  lua_setfield(of, -2, "clock");
  for (const char* name :
       {"execute", "exit", "getenv", "remove", "rename", "setlocale", "tmpname"}) {
    forbid(of, name);
  }
  lua_pop(of, 1);
  // What luaL_requiref() has remembered would give the originals back to nobody: there is no package library,
  // and scripts do not see the registry.
}

}  // namespace troupe::lua::detail
