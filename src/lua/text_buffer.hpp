// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <lua.hpp>
#include <string_view>

namespace troupe::lua::detail {

/// A string for Lua in the making. What luaL_Buffer is, but that garbage is collected before memory lacks, and that the
/// error says so (LUA_ERRMEM).
///
/// Invariant: it has a place on the stack from when it is made. What is above is the caller's.
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
  /// So many bytes, which the caller writes before anything else happens.
  char* add_space(std::size_t bytes);
  /// The string or number on top of the stack, which is popped.
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
