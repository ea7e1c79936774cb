// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <lua.hpp>
#include <string_view>

namespace troupe::lua::detail {

/// A string under construction for Lua. It differs from luaL_Buffer in two ways: it collects
/// garbage before memory runs out, and the error says so (LUA_ERRMEM).
///
/// Invariant: it occupies one slot of the stack from its construction on. The slots above belong to
///            the caller.
class text_buffer {
 public:
  explicit text_buffer(lua_State* of);
  text_buffer(const text_buffer&) = delete;
  text_buffer& operator=(const text_buffer&) = delete;

  void add(char c) {
    if (size_ == room_) grow(1);
    text_[size_++] = c;
  }
  void add(std::string_view text);
  /// Returns space for that number of bytes, which the caller writes before it does anything else.
  char* add_space(std::size_t bytes);
  /// Appends the string or number on top of the stack, which is popped.
  void add_value();

  void push() { lua_pushlstring(lua_, text_, size_); }

 private:
  void grow(std::size_t by);

  lua_State* const lua_;
  const int place_;
  char* text_ = first_;
  std::size_t size_ = 0;
  std::size_t room_ = sizeof first_;
  char first_[1024];
};

}  // namespace troupe::lua::detail
