// SPDX-License-Identifier: Apache-2.0

#include "value_codec.hpp"

#include <cstdlib>
#include <exception>
#include <new>

#include "decode.hpp"
#include "governor.hpp"

namespace troupe::lua::detail {
namespace {

// Their addresses are keys in Lua's registry.
const char null_key = 0;
const char array_key = 0;

int null_to_string(lua_State* in) {
  lua_pushliteral(in, "null");
  return 1;
}

// Expects a metatable on top of the stack, and hides it from scripts. Otherwise a script could put
// a finaliser into it.
void protect(lua_State* in, const char* name) {
  lua_pushstring(in, name);
  lua_setfield(in, -2, "__name");
  lua_pushboolean(in, 0);
  lua_setfield(in, -2, "__metatable");
}

void make_marks(lua_State* in) {
  lua_newuserdatauv(in, 0, 0);
  lua_createtable(in, 0, 3);
  protect(in, "null");
  lua_pushcfunction(in, null_to_string);
  lua_setfield(in, -2, "__tostring");
  lua_setmetatable(in, -2);
  lua_rawsetp(in, LUA_REGISTRYINDEX, &null_key);

  lua_createtable(in, 0, 2);
  protect(in, "array");
  lua_rawsetp(in, LUA_REGISTRYINDEX, &array_key);
}

const codec_limits& limits_of(lua_State* in) {
  return *static_cast<const codec_limits*>(lua_touserdata(in, lua_upvalueindex(1)));
}

template <encoding As>
int encode_value(lua_State* in) {
  luaL_checkany(in, 1);
  std::string text;
  encode(in, 1, As, text, limits_of(in));
  lua_pushlstring(in, text.data(), text.size());
  return 1;
}

template <encoding As>
int decode_value(lua_State* in) {
  std::size_t size = 0;
  const char* const bytes = luaL_checklstring(in, 1, &size);
  const auto error = push_decoded(in, {bytes, size}, As, limits_of(in));
  if (!error) return 1;
  lua_pushnil(in);
  lua_pushlstring(in, error->data(), error->size());
  return 2;
}

template <encoding As>
void push_functions(lua_State* to, int limits) {
  lua_createtable(to, 0, 2);
  lua_pushvalue(to, limits);
  lua_pushcclosure(to, encode_value<As>, 1);
  lua_setfield(to, -2, "encode");
  lua_pushvalue(to, limits);
  lua_pushcclosure(to, decode_value<As>, 1);
  lua_setfield(to, -2, "decode");
}

// array([t]): returns t, or a new table, marked as an array.
int array(lua_State* in) {
  lua_settop(in, 1);
  if (lua_isnil(in, 1)) {
    lua_newtable(in);
    lua_replace(in, 1);
  }
  luaL_checktype(in, 1, LUA_TTABLE);
  if (lua_getmetatable(in, 1) != 0) {
    if (!is_marked_as_array(in, 1)) return luaL_error(in, "array: the table has a metatable");
    lua_pop(in, 1);
  }
  mark_as_array(in, 1);
  return 1;
}

}  // namespace

void open_codecs(lua_State* of, const codec_limits& allowed) {
  luaL_checkstack(of, 6, nullptr);
  make_marks(of);
  lua_createtable(of, 0, 4);
  new (lua_newuserdatauv(of, sizeof(codec_limits), 0)) codec_limits(allowed);
  const int limits = lua_gettop(of);
  push_functions<encoding::json>(of, limits);
  lua_setfield(of, limits - 1, "json");
  push_functions<encoding::cbor>(of, limits);
  lua_setfield(of, limits - 1, "cbor");
  lua_settop(of, limits - 1);
  push_null(of);
  lua_setfield(of, -2, "null");
  lua_pushcfunction(of, array);
  lua_setfield(of, -2, "array");
}

std::optional<std::string> push_decoded(lua_State* to, std::string_view bytes, encoding as,
                                        const codec_limits& allowed) {
  const int top = lua_gettop(to);
  try {
    if (bytes.size() > allowed.bytes) {
      return "byte " + std::to_string(allowed.bytes) + ": the input is larger than the limit";
    }
    governor::of(to).spend(to, bytes.size() / 4);
    value_builder builder(to, allowed);
    auto wrong = as == encoding::json ? decode_json(bytes, builder) : decode_cbor(bytes, builder);
    if (!wrong) return std::nullopt;
    lua_settop(to, top);
    return "byte " + std::to_string(wrong->at) + ": " + wrong->why;
  } catch (const std::exception&) {
    luaL_error(to, "not enough memory");
  }
  std::abort();  // unreachable
}

void push_null(lua_State* to) { lua_rawgetp(to, LUA_REGISTRYINDEX, &null_key); }

bool is_null(lua_State* in, int index) {
  if (lua_type(in, index) != LUA_TUSERDATA) return false;
  const void* const value = lua_touserdata(in, index);
  push_null(in);
  const bool is_it = value == lua_touserdata(in, -1);
  lua_pop(in, 1);
  return is_it;
}

void mark_as_array(lua_State* in, int index) {
  index = lua_absindex(in, index);
  lua_rawgetp(in, LUA_REGISTRYINDEX, &array_key);
  lua_setmetatable(in, index);
}

bool is_marked_as_array(lua_State* in, int index) {
  if (lua_getmetatable(in, index) == 0) return false;
  lua_rawgetp(in, LUA_REGISTRYINDEX, &array_key);
  const bool is_it = lua_rawequal(in, -1, -2) != 0;
  lua_pop(in, 2);
  return is_it;
}

}  // namespace troupe::lua::detail
