// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <lua.hpp>
#include <string>
#include <vector>

#include "state.hpp"

namespace troupe::lua::detail {

/// Gives each test its own state for scripts.
class script : public testing::Test {
 protected:
  explicit script(const bounds& allowed = {.run_timeout = std::chrono::milliseconds(50)})
      : state_(allowed) {}

  /// Runs a text as one run, and returns its results as tostring() shows them: "1, true, nil". A
  /// failure gives "error: " and the message; a killed run gives "killed: " and the message.
  std::string run(const std::string& text) {
    lua_State* const lua = state_.main();
    lua_settop(lua, 0);
    int status = luaL_loadbufferx(lua, text.data(), text.size(), "=script", "t");
    governor::verdict verdict{};
    if (status == LUA_OK) {
      state_.governor().begin(clock::now());
      status = lua_pcall(lua, 0, LUA_MULTRET, 0);
      verdict = state_.governor().end();
    }
    std::string said;
    for (int i = 1; i <= lua_gettop(lua); ++i) {
      if (i > 1) said += ", ";
      std::size_t size = 0;
      const char* const one = luaL_tolstring(lua, i, &size);
      said.append(one, size);
      lua_pop(lua, 1);
    }
    if (verdict != governor::verdict::none) {
      return "killed: " + reason(verdict, state_.governor().allowed());
    }
    return status == LUA_OK ? said : "error: " + said;
  }

  state state_;
};

}  // namespace troupe::lua::detail
