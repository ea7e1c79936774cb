// SPDX-License-Identifier: Apache-2.0

#include "value_builder.hpp"

#include <algorithm>
#include <utility>

#include "governor.hpp"
#include "utf8.hpp"

namespace troupe::lua::detail {

value_builder::value_builder(lua_State* to, const codec_limits& allowed)
    : lua_(to), allowed_(allowed) {
  luaL_checkstack(lua_, 4, nullptr);
}

bool value_builder::null() {
  if (is_one_too_many()) return false;
  push_null(lua_);
  return add();
}

bool value_builder::boolean(bool value) {
  if (is_one_too_many()) return false;
  lua_pushboolean(lua_, value ? 1 : 0);
  return add();
}

bool value_builder::integer(lua_Integer value) {
  if (is_one_too_many()) return false;
  lua_pushinteger(lua_, value);
  return add();
}

bool value_builder::number(lua_Number value) {
  if (is_one_too_many()) return false;
  lua_pushnumber(lua_, value);
  return add();
}

bool value_builder::string(std::string_view value) {
  if (is_one_too_many()) return false;
  lua_pushlstring(lua_, value.data(), value.size());
  return add();
}

bool value_builder::begin_map(std::size_t claimed) { return begin(false, claimed); }
bool value_builder::begin_array(std::size_t claimed) { return begin(true, claimed); }

bool value_builder::begin(bool array, std::size_t claimed) {
  if (is_one_too_many()) return false;
  const std::size_t depth_max = std::min(allowed_.depth, codec_limits::depth_max);
  if (open_.size() == depth_max) {
    return refuse("nested more than " + std::to_string(depth_max) + " deep");
  }
  // The container, a key, and the values that are pushed to examine them.
  luaL_checkstack(lua_, 5, nullptr);
  constexpr std::size_t believed = 32;
  const auto room = static_cast<int>(std::min(claimed, believed));
  lua_createtable(lua_, array ? room : 0, array ? 0 : room);
  if (array) mark_as_array(lua_, -1);
  open_.push_back({array, 0});
  return true;
}

bool value_builder::key(std::string_view name) {
  lua_pushlstring(lua_, name.data(), name.size());
  lua_pushvalue(lua_, -1);
  const bool is_new = lua_rawget(lua_, -3) == LUA_TNIL;
  lua_pop(lua_, 1);
  if (is_new) return true;
  constexpr std::size_t shown = 40;
  return refuse("duplicate key \"" + std::string(beginning_of(name, shown)) +
                (name.size() > shown ? "…" : "") + "\"");
}

bool value_builder::end() {
  open_.pop_back();
  return add();
}

bool value_builder::refuse(std::string why) {
  refusal_ = std::move(why);
  return false;
}

bool value_builder::is_one_too_many() {
  governor::of(lua_).spend(lua_, 1);
  if (++elements_ <= allowed_.elements) return false;
  refuse("more than " + std::to_string(allowed_.elements) + " values");
  return true;
}

// The value on top of the stack is complete: adds it to the open container.
bool value_builder::add() {
  if (open_.empty()) return true;
  container& in = open_.back();
  if (in.is_array) {
    lua_rawseti(lua_, -2, ++in.last);
  } else {
    lua_rawset(lua_, -3);
  }
  return true;
}

}  // namespace troupe::lua::detail
