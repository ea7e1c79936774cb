// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <lua.hpp>
#include <string_view>

#include "governor.hpp"
#include "libraries.hpp"
#include "metered_functions.hpp"
#include "weak_tables.hpp"

namespace troupe::lua::detail {
namespace {

// ── Protected calls ───────────────────────────────────────────────────────────────────────────
// Like Lua's own, except that the error of a killed run passes through them.

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

// Calls the script's handler, the upvalue, with the error. It is not called for a killed run: that
// error comes out of a hook, and no hook would interrupt the handler.
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

// ── Restricted functions ──────────────────────────────────────────────────────────────────────

// The source to load: a text, or a function that returns it piece by piece. It is compiled in small
// pieces, with a check of the clock at each.
struct chunk {
  std::string_view rest;
  bool by_function;

  static constexpr int function_place = 1;
  static constexpr int piece_place = 5;
};

const char* next_piece(lua_State* in, void* from, std::size_t* size) {
  auto& all = *static_cast<chunk*>(from);
  if (all.rest.empty() && all.by_function) {
    luaL_checkstack(in, 2, "too many nested functions");
    lua_pushvalue(in, chunk::function_place);
    lua_call(in, 0, 1);
    if (!lua_isnil(in, -1) && !lua_isstring(in, -1)) {
      luaL_error(in, "reader function must return a string");
    }
    lua_replace(in, chunk::piece_place);
    std::size_t piece_size = 0;
    const char* const piece = lua_tolstring(in, chunk::piece_place, &piece_size);
    all.rest = {piece, piece_size};
  }
  governor::of(in).spend(in, SIZE_MAX);
  constexpr std::size_t size_max = 4096;
  const std::string_view piece = all.rest.substr(0, size_max);
  all.rest.remove_prefix(piece.size());
  *size = piece.size();
  return piece.data();
}

// load(chunk [, name [, mode [, env]]]): accepts text only.
int load(lua_State* in) {
  const bool has_environment = !lua_isnone(in, 4);
  chunk all{{}, !lua_isstring(in, 1)};
  const char* name = "=(load)";
  if (all.by_function) {
    name = luaL_optstring(in, 2, name);
    luaL_checktype(in, 1, LUA_TFUNCTION);
  } else {
    std::size_t size = 0;
    const char* const text = lua_tolstring(in, 1, &size);
    all.rest = {text, size};
    name = luaL_optstring(in, 2, text);
  }
  lua_settop(in, chunk::piece_place);
  if (lua_load(in, next_piece, &all, name, "t") != LUA_OK) {
    governor::of(in).raise_if_killed(in);  // the function that gave the pieces may have caught it
    luaL_pushfail(in);
    lua_insert(in, -2);
    return 2;
  }
  if (has_environment) {
    lua_pushvalue(in, 4);
    if (lua_setupvalue(in, -2, 1) == nullptr) lua_pop(in, 1);
  }
  return 1;
}

int select(lua_State* in) {
  governor::of(in).spend(in, static_cast<std::size_t>(lua_gettop(in)));
  return call_original(in);
}

int tonumber(lua_State* in) {
  spend_string(in, 1);
  return call_original(in);
}

// Lua looks for a finaliser when a metatable is set, and not later.
int setmetatable(lua_State* in) {
  if (lua_istable(in, 2)) {
    lua_pushliteral(in, "__gc");
    if (lua_rawget(in, 2) != LUA_TNIL) {
      return luaL_error(
          in,
          "setmetatable: applications must not use finalisers (__gc); use a variable with <close>");
    }
    lua_pop(in, 1);
    check_weakness(in);
  }
  return call_original(in);
}

int collectgarbage(lua_State* in) {
  static const char* const allowed[] = {"count", nullptr};
  luaL_checkoption(in, 1, nullptr, allowed);
  lua_pushnumber(in, static_cast<lua_Number>(governor::of(in).memory()) / 1024);
  return 1;
}

void forbid(lua_State* in, const char* name) {
  lua_pushnil(in);
  lua_setfield(in, -2, name);
}

}  // namespace

void open_base(lua_State* of) {
  luaL_requiref(of, LUA_GNAME, luaopen_base, 1);
  constexpr luaL_Reg replaced[] = {{"pcall", pcall},
                                   {"xpcall", xpcall},
                                   {"collectgarbage", collectgarbage},
                                   {"load", load},
                                   {nullptr, nullptr}};
  luaL_setfuncs(of, replaced, 0);
  spend_for(of, "select", select);
  spend_for(of, "tonumber", tonumber);
  spend_for(of, "setmetatable", setmetatable);
  for (const char* name : {"dofile", "loadfile", "print", "warn"}) forbid(of, name);
  lua_pop(of, 1);
  forbid_weak_keys(of);
  // luaL_requiref() keeps references to the original functions. They cannot be reached: there is no
  // package library, and scripts do not see the registry.
}

}  // namespace troupe::lua::detail
