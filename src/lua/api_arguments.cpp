// SPDX-License-Identifier: Apache-2.0

#include "api_arguments.hpp"

#include <algorithm>
#include <string>

#include "rpc.hpp"
#include "utf8.hpp"

namespace troupe::lua::detail {
namespace {

constexpr std::size_t name_bytes_max = 256;

}  // namespace

std::string_view check_string(lua_State* in, int argument) {
  std::size_t size = 0;
  const char* const data = luaL_checklstring(in, argument, &size);
  return {data, size};
}

void check_text(lua_State* in, int argument, std::string_view text) {
  luaL_argcheck(in, is_utf8(text), argument,
                "the text must be UTF-8; use send_binary for other bytes");
}

std::string_view check_method(lua_State* in, int argument) {
  const std::string_view method = check_string(in, argument);
  luaL_argcheck(in,
                !method.empty() && method.size() <= rpc_limits{}.method_bytes && is_utf8(method),
                argument, "a name of 1 to 256 bytes of UTF-8");
  return method;
}

std::string_view check_name(lua_State* in, int argument) {
  const std::string_view name = check_string(in, argument);
  luaL_argcheck(in, !name.empty() && name.size() <= name_bytes_max && is_utf8(name), argument,
                "a name of 1 to 256 bytes of UTF-8");
  return name;
}

void check_value(lua_State* in, int argument) {
  luaL_argcheck(in, !lua_isnoneornil(in, argument), argument,
                "a value is required; use troupe.null for an empty one");
}

bool check_options(lua_State* in, int argument, std::initializer_list<std::string_view> known) {
  if (lua_isnoneornil(in, argument)) return false;
  luaL_checktype(in, argument, LUA_TTABLE);
  for (lua_pushnil(in); lua_next(in, argument) != 0; lua_pop(in, 1)) {
    const bool is_text = lua_type(in, -2) == LUA_TSTRING;
    const std::string_view name = is_text ? check_string(in, -2) : std::string_view();
    if (is_text && std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string given(luaL_tolstring(in, -2, nullptr));
    std::string text = "unknown option '" + given + "'; the options are";
    for (const std::string_view each : known) text.append(" '").append(each).append("'");
    luaL_argerror(in, argument, text.c_str());
  }
  return true;
}

void lock(lua_State* metatable_on_top, const char* what) {
  lua_pushstring(metatable_on_top, what);
  lua_setfield(metatable_on_top, -2, "__metatable");
}

int push_why(lua_State* in, const char* why) {
  lua_pushnil(in);
  lua_pushstring(in, why);
  return 2;
}

}  // namespace troupe::lua::detail
