// SPDX-License-Identifier: Apache-2.0

#include "text_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::lua::detail {

text_buffer::text_buffer(lua_State* of) : lua_(of), place_(lua_gettop(of) + 1) {
  luaL_checkstack(of, LUA_MINSTACK, nullptr);
  lua_pushnil(of);
}

void text_buffer::add(std::string_view text) {
  if (text.empty()) return;
  std::memcpy(add_space(text.size()), text.data(), text.size());
}

char* text_buffer::add_space(std::size_t bytes) {
  if (bytes > room_ - size_) grow(bytes);
  char* const at = text_ + size_;
  size_ += bytes;
  return at;
}

void text_buffer::add_value() {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua_, -1, &size);
  add({text, size});
  lua_pop(lua_, 1);
}

void text_buffer::grow(std::size_t by) {
  const std::size_t room = std::max(size_ + by, room_ * 2);
  auto* const moved = static_cast<char*>(lua_newuserdatauv(lua_, room, 0));
  std::memcpy(moved, text_, size_);
  lua_replace(lua_, place_);  // the previous one becomes garbage
  text_ = moved;
  room_ = room;
}

}  // namespace troupe::lua::detail
