// SPDX-License-Identifier: Apache-2.0

#include "weak_tables.hpp"

#include <cstddef>
#include <lua.hpp>
#include <random>
#include <string_view>

namespace troupe::lua::detail {
namespace {

// In the registry, which scripts do not see: the metatable of all tables with weak values.
const char weak_values_key = 0;

constexpr std::string_view mode_name = "__mode";

// A script can change the __mode of a metatable at any time, by an ordinary assignment that nothing
// observes. Therefore the collector is prevented from finding it. Lua creates the string "__mode"
// once for each state, never collects it, and looks up a metatable's mode by the address of that
// string. This function overwrites the bytes of that string: a script that uses "__mode" from now
// on gets another string, at another address.
//
// The bytes belong to the state's own memory. They are random, so that scripts cannot produce that
// string either.
void take_name(lua_State* of) {
  std::random_device device;
  lua_pushlstring(of, mode_name.data(), mode_name.size());
  char* const bytes = const_cast<char*>(lua_tostring(of, -1));
  for (std::size_t i = 0; i < mode_name.size(); ++i) bytes[i] = static_cast<char>(device());
}

// Whether the collector removes a key to which only the table itself refers.
bool has_weak_keys(lua_State* in) {
  lua_newtable(in);
  lua_newtable(in);
  lua_pushliteral(in, "k");
  lua_setfield(in, -2, mode_name.data());
  lua_setmetatable(in, -2);
  lua_newtable(in);
  lua_pushboolean(in, 1);
  lua_rawset(in, -3);
  lua_gc(in, LUA_GCCOLLECT);
  lua_pushnil(in);
  const bool is_there = lua_next(in, -2) != 0;
  lua_pop(in, is_there ? 3 : 1);
  return !is_there;
}

}  // namespace

void forbid_weak_keys(lua_State* of) {
  take_name(of);
  lua_newtable(of);
  lua_insert(of, -2);
  lua_pushliteral(of, "v");
  lua_rawset(of, -3);
  lua_pushliteral(of, "weak values");
  lua_setfield(of, -2, "__metatable");
  lua_rawsetp(of, LUA_REGISTRYINDEX, &weak_values_key);
  // Lua's manual does not guarantee what this relies on, so each state is tested.
  if (has_weak_keys(of)) luaL_error(of, "weak keys cannot be disabled in this version of Lua");
}

void check_weakness(lua_State* in) {
  lua_pushlstring(in, mode_name.data(), mode_name.size());
  const int type = lua_rawget(in, 2);
  const bool asks_for_values = type == LUA_TSTRING && std::string_view(lua_tostring(in, -1)) == "v";
  lua_pop(in, 1);
  if (type == LUA_TNIL) return;
  if (!asks_for_values) {
    luaL_error(in, "setmetatable: applications must not use weak keys; __mode can only be 'v'");
  }
  lua_pushnil(in);
  lua_next(in, 2);
  lua_pop(in, 1);
  if (lua_next(in, 2) != 0) {
    luaL_error(in, "setmetatable: a metatable with __mode must not have other fields");
  }
  lua_rawgetp(in, LUA_REGISTRYINDEX, &weak_values_key);
  lua_replace(in, 2);
}

}  // namespace troupe::lua::detail
