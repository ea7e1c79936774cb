// SPDX-License-Identifier: Apache-2.0

// The available part of Lua's os library: the clocks and the date.

#include <chrono>
#include <lua.hpp>
#include <string_view>

#include <troupe/base/clock.hpp>

#include "libraries.hpp"
#include "metered_functions.hpp"

namespace troupe::lua::detail {
namespace {

// os.time() returns the current time; with a table it calls the original.
int time(lua_State* in) {
  if (!lua_isnoneornil(in, 1)) return call_original(in);
  lua_pushinteger(in, std::chrono::system_clock::to_time_t(wall_clock::now()));
  return 1;
}

// Each part of a format takes as long as a hundred instructions.
constexpr std::size_t date_format_max = 1'000;

// os.date([format [, time]]): the default is the current time.
int date(lua_State* in) {
  const std::string_view format = luaL_optstring(in, 1, "%c");
  luaL_argcheck(in, format.size() <= date_format_max, 1, "format is too long");
  lua_settop(in, 2);
  if (lua_isnil(in, 2)) {
    lua_pushinteger(in, std::chrono::system_clock::to_time_t(wall_clock::now()));
    lua_replace(in, 2);
  }
  return call_original(in);
}

// Returns the seconds of a monotonic clock.
int clock_seconds(lua_State* in) {
  lua_pushnumber(in, std::chrono::duration<lua_Number>(clock::now().time_since_epoch()).count());
  return 1;
}

}  // namespace

void open_os(lua_State* of) {
  luaL_requiref(of, LUA_OSLIBNAME, luaopen_os, 1);
  spend_for(of, "time", time);
  spend_for(of, "date", date);
  lua_pushcfunction(of, clock_seconds);
  lua_setfield(of, -2, "clock");
  for (const char* name :
       {"execute", "exit", "getenv", "remove", "rename", "setlocale", "tmpname"}) {
    lua_pushnil(of);
    lua_setfield(of, -2, name);
  }
  lua_pop(of, 1);
}

}  // namespace troupe::lua::detail
