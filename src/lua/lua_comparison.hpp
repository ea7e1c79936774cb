// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <lua.hpp>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "state.hpp"

namespace troupe::lua::detail {

/// Runs Lua's own libraries and ours with the same input and compares the results.
class lua_comparison {
 public:
  using value = std::variant<lua_Integer, std::string>;
  using values = std::vector<value>;

  lua_comparison() : theirs_(luaL_newstate()) { luaL_openlibs(theirs_.get()); }

  /// `text` is a function's body; it reads its arguments from `...`.
  void compare(const std::string& text, const values& arguments) {
    ++compared_;
    const std::string ours = results(ours_.main(), text, arguments);
    const std::string theirs = results(theirs_.get(), text, arguments);
    if (ours == theirs) return;
    std::string shown = text;
    for (const value& one : arguments) {
      shown += "\n  " + testing::PrintToString(std::visit(
                            [](const auto& v) { return testing::PrintToString(v); }, one));
    }
    ADD_FAILURE() << shown << "\nours:   " << ours << "\ntheirs: " << theirs;
  }

  int compared() const { return compared_; }

  /// Returns the results as "1, true, x", or an error as "error: " and the message.
  static std::string results(lua_State* in, const std::string& text, const values& arguments) {
    lua_settop(in, 0);
    if (lua_getfield(in, LUA_REGISTRYINDEX, text.c_str()) == LUA_TNIL) {
      lua_pop(in, 1);
      if (luaL_loadbufferx(in, text.data(), text.size(), "=script", "t") != LUA_OK) {
        return lua_tostring(in, -1);
      }
      lua_pushvalue(in, -1);
      lua_setfield(in, LUA_REGISTRYINDEX, text.c_str());
    }
    for (const value& one : arguments) {
      if (const auto* number = std::get_if<lua_Integer>(&one)) {
        lua_pushinteger(in, *number);
      } else {
        const auto& string = std::get<std::string>(one);
        lua_pushlstring(in, string.data(), string.size());
      }
    }
    const int status = lua_pcall(in, static_cast<int>(arguments.size()), LUA_MULTRET, 0);
    std::string said = status == LUA_OK ? "" : "error: ";
    for (int i = 1; i <= lua_gettop(in); ++i) {
      if (i > 1) said += ", ";
      std::size_t size = 0;
      const char* const one = luaL_tolstring(in, i, &size);
      said.append(one, size);
      lua_pop(in, 1);
    }
    return said;
  }

 private:
  struct closing {
    void operator()(lua_State* which) const noexcept { lua_close(which); }
  };
  state ours_{bounds{}};
  std::unique_ptr<lua_State, closing> theirs_;
  int compared_ = 0;
};

}  // namespace troupe::lua::detail
