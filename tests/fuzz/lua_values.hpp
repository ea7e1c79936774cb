// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "fuzz.hpp"
#include "lua/state.hpp"
#include "lua/value_codec.hpp"

namespace troupe::fuzz {

using namespace troupe::lua::detail;

/// A Lua state that reads values and writes them again.
class lua_values {
 public:
  lua_values() {
    open_codecs(lua_);
    lua_settop(lua_, 0);
  }

  [[nodiscard]] lua_State* main() const noexcept { return lua_; }

  /// Any input is either read as a value, which can be written and read again, or refused with a
  /// reason.
  void check(std::string_view given, encoding as) {
    lua_settop(lua_, 0);
    // Lower than usual, so that short inputs reach the limits.
    const codec_limits allowed{.depth = 8, .bytes = 4096, .elements = 500};
    if (const auto wrong = push_decoded(lua_, given, as, allowed)) {
      require(lua_gettop(lua_) == 0, "what is refused leaves nothing on the stack");
      require(wrong->starts_with("byte ") && is_utf8(*wrong) && wrong->size() < 300,
              "a reason is short, names the place, and can be shown");
      require(std::stoul(wrong->substr(5)) <= given.size(), "the place is one of the input");
      return;
    }
    require(lua_gettop(lua_) == 1, "a value is one on the stack");
    const std::string cbor = written(1, encoding::cbor);
    check_again(cbor, encoding::cbor, "CBOR is read as what was written");
    if (as == encoding::json) {
      check_again(written(1, encoding::json), encoding::json, "JSON is read as what was written");
    }
  }

 private:
  std::string written(int index, encoding as) {
    std::string text;
    encode(lua_, index, as, text);
    return text;
  }

  void check_again(const std::string& text, encoding as, const char* promise) {
    require(!push_decoded(lua_, text, as), "what is written can be read");
    require(lua_gettop(lua_) == 2, "a value is one on the stack");
    require(same(1, 2), promise);
    lua_settop(lua_, 1);
  }

  bool same(int a, int b) {
    if (lua_type(lua_, a) != lua_type(lua_, b)) return false;
    if (lua_type(lua_, a) == LUA_TNUMBER) {
      return lua_isinteger(lua_, a) == lua_isinteger(lua_, b) &&
             (lua_rawequal(lua_, a, b) != 0 || lua_tonumber(lua_, a) != lua_tonumber(lua_, a));
    }
    if (!lua_istable(lua_, a)) return lua_rawequal(lua_, a, b) != 0;
    return is_marked_as_array(lua_, a) == is_marked_as_array(lua_, b) && holds_all(a, b) &&
           holds_all(b, a);
  }

  // Whether one table contains all entries of the other.
  bool holds_all(int in, int of) {
    luaL_checkstack(lua_, 8, nullptr);
    bool all = true;
    lua_pushnil(lua_);
    while (lua_next(lua_, of) != 0) {
      const int top = lua_gettop(lua_);
      lua_pushvalue(lua_, top - 1);
      lua_rawget(lua_, in);
      all = all && same(top, top + 1);
      lua_settop(lua_, top - 1);
    }
    return all;
  }

  state scripts_{{}};
  lua_State* const lua_ = scripts_.main();
};

}  // namespace troupe::fuzz
