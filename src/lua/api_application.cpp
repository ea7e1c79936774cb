// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <lua.hpp>
#include <string>

#include "metered_functions.hpp"
#include "program.hpp"
#include "value_codec.hpp"

namespace troupe::lua::detail {
namespace {

// Writing a line takes as long as that number of instructions.
constexpr std::size_t steps_of_a_line = 200;
// The content of a line is outside of the scripts' memory.
constexpr std::size_t line_bytes_max = 64 * 1024;

// log.info(…) writes what print() would print.
template <severity How>
int log(program& whose, lua_State* in) {
  std::string line;
  std::size_t left_out = 0;
  const int arguments = lua_gettop(in);
  for (int i = 1; i <= arguments; ++i) {
    std::size_t size = 0;
    const char* const one = luaL_tolstring(in, i, &size);
    const std::size_t fits = std::min(size, line_bytes_max - line.size());
    line.append(one, fits);
    left_out += size - fits;
    if (i < arguments && line.size() < line_bytes_max) line += '\t';
    spend_bytes(in, size);
    lua_pop(in, 1);
  }
  if (left_out > 0) line += " (and " + std::to_string(left_out) + " bytes more)";
  governor::of(in).spend(in, steps_of_a_line);
  whose.around().log(How, line);
  return 0;
}

// require(name) returns what the module returned when it first ran. The second upvalue holds these
// results.
int require(program& whose, lua_State* in) {
  const std::string name = luaL_checkstring(in, 1);
  lua_settop(in, 1);
  constexpr int loaded = lua_upvalueindex(2);
  if (lua_getfield(in, loaded, name.c_str()) != LUA_TNIL) {
    if (lua_toboolean(in, -1) == 0)
      return luaL_error(in, "module '%s' requires itself", name.c_str());
    return 1;
  }
  governor::of(in).spend(in, 1'000);  // for the search for files
  const script_text* const text = whose.scripts().module(name);
  if (text == nullptr)
    return luaL_error(in, "module '%s' does not exist in the application's folder", name.c_str());
  lua_pushboolean(in, 0);
  lua_setfield(in, loaded, name.c_str());
  const std::string shown = "@" + text->name;
  int status = luaL_loadbufferx(in, text->text.data(), text->text.size(), shown.c_str(), "t");
  if (status == LUA_OK) {
    lua_pushvalue(in, 1);
    status = lua_pcall(in, 1, 1, 0);
  }
  if (status != LUA_OK) {
    lua_pushnil(in);
    lua_setfield(in, loaded, name.c_str());
    return lua_error(in);
  }
  if (lua_isnil(in, -1)) lua_pushboolean(in, 1);
  lua_pushvalue(in, -1);
  lua_setfield(in, loaded, name.c_str());
  return 1;
}

}  // namespace

void open_application(lua_State* in, program& whose, const std::string& config) {
  // json, cbor, null, array
  open_codecs(in);
  for (lua_pushnil(in); lua_next(in, -2) != 0;) {
    lua_pushvalue(in, -2);
    lua_insert(in, -2);
    lua_settable(in, -5);
  }
  lua_pop(in, 1);
  if (const auto wrong = push_decoded(in, config, encoding::json)) {
    luaL_error(in, "the configuration is not valid JSON: %s", wrong->c_str());
  }
  lua_setfield(in, -2, "config");

  const std::string_view name = whose.around().application();
  lua_pushlstring(in, name.data(), name.size());
  lua_setfield(in, -2, "application");
  lua_pushinteger(in, static_cast<lua_Integer>(whose.around().instance_number()));
  lua_setfield(in, -2, "instance");

  lua_newtable(in);
  constexpr api_function levels[] = {{"debug", api<log<severity::debug>>},
                                     {"info", api<log<severity::info>>},
                                     {"warning", api<log<severity::warning>>},
                                     {"error", api<log<severity::error>>}};
  set_functions(in, whose, levels);
  lua_getfield(in, -1, "info");
  lua_setglobal(in, "print");
  lua_setfield(in, -2, "log");

  lua_pushlightuserdata(in, &whose);
  lua_newtable(in);
  lua_pushcclosure(in, api<require>, 2);
  lua_setglobal(in, "require");
}

}  // namespace troupe::lua::detail
