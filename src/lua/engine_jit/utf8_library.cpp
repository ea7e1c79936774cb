// SPDX-License-Identifier: Apache-2.0

// The utf8 library of Lua 5.4, which Lua 5.1 lacks. It has no `lax` mode: characters go up to
// U+10FFFF, without surrogates.

#include <lua.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "lua/libraries.hpp"

namespace troupe::lua::detail {
namespace {

std::string_view check_string(lua_State* in, int argument) {
  std::size_t size = 0;
  const char* const data = luaL_checklstring(in, argument, &size);
  return {data, size};
}

bool continues(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

struct character {
  std::uint32_t code;
  std::size_t bytes;
};

// Returns the character that begins at `at`.
std::optional<character> read(std::string_view text, std::size_t at) noexcept {
  if (at >= text.size()) return std::nullopt;
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return character{first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes > text.size() - at) return std::nullopt;
  std::uint32_t code = first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues(text[at + i])) return std::nullopt;
    code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return std::nullopt;
  return character{code, bytes};
}

// A negative position counts from the end.
lua_Integer place(lua_Integer given, std::size_t size) noexcept {
  return given >= 0 ? given : given + static_cast<lua_Integer>(size) + 1;
}

// utf8.char(…)
int make(lua_State* in) {
  luaL_Buffer text;
  const int count = lua_gettop(in);
  luaL_buffinit(in, &text);
  for (int i = 1; i <= count; ++i) {
    const lua_Integer given = luaL_checkinteger(in, i);
    luaL_argcheck(in, given >= 0 && given <= 0x10ffff, i, "value out of range");
    const auto code = static_cast<std::uint32_t>(given);
    const auto add = [&](std::uint32_t byte) { luaL_addchar(&text, static_cast<char>(byte)); };
    if (code < 0x80) {
      add(code);
      continue;
    }
    if (code < 0x800) {
      add(0xc0 | code >> 6);
    } else {
      if (code < 0x10000) {
        add(0xe0 | code >> 12);
      } else {
        add(0xf0 | code >> 18);
        add(0x80 | (code >> 12 & 0x3f));
      }
      add(0x80 | (code >> 6 & 0x3f));
    }
    add(0x80 | (code & 0x3f));
  }
  luaL_pushresult(&text);
  return 1;
}

// utf8.codepoint(s [, i [, j]])
int codepoint(lua_State* in) {
  const std::string_view text = check_string(in, 1);
  const lua_Integer from = place(luaL_optinteger(in, 2, 1), text.size());
  const lua_Integer to = place(luaL_optinteger(in, 3, from), text.size());
  luaL_argcheck(in, from >= 1, 2, "out of bounds");
  luaL_argcheck(in, to <= static_cast<lua_Integer>(text.size()), 3, "out of bounds");
  int results = 0;
  for (auto at = static_cast<std::size_t>(from) - 1; static_cast<lua_Integer>(at) < to;) {
    const auto one = read(text, at);
    if (!one) return luaL_error(in, "invalid UTF-8 code");
    luaL_checkstack(in, 1, "string slice too long");
    lua_pushinteger(in, static_cast<lua_Integer>(one->code));
    ++results;
    at += one->bytes;
  }
  return results;
}

// utf8.len(s [, i [, j]]): returns the length; or nil and the position of the first invalid byte.
int len(lua_State* in) {
  const std::string_view text = check_string(in, 1);
  const auto size = static_cast<lua_Integer>(text.size());
  lua_Integer at = place(luaL_optinteger(in, 2, 1), text.size());
  const lua_Integer last = place(luaL_optinteger(in, 3, -1), text.size());
  luaL_argcheck(in, at >= 1 && at <= size + 1, 2, "initial position out of bounds");
  luaL_argcheck(in, last <= size, 3, "final position out of bounds");
  lua_Integer count = 0;
  while (at <= last) {
    const auto one = read(text, static_cast<std::size_t>(at) - 1);
    if (!one) {
      lua_pushnil(in);
      lua_pushinteger(in, at);
      return 2;
    }
    at += static_cast<lua_Integer>(one->bytes);
    ++count;
  }
  lua_pushinteger(in, count);
  return 1;
}

// utf8.offset(s, n [, i])
int offset(lua_State* in) {
  const std::string_view text = check_string(in, 1);
  const auto size = static_cast<lua_Integer>(text.size());
  lua_Integer n = luaL_checkinteger(in, 2);
  lua_Integer at = place(luaL_optinteger(in, 3, n > 0 ? 1 : size + 1), text.size()) - 1;
  luaL_argcheck(in, at >= 0 && at <= size, 3, "position out of bounds");
  const auto is_inside = [&](lua_Integer where) {
    return where < size && continues(text[static_cast<std::size_t>(where)]);
  };
  if (n == 0) {
    while (at > 0 && is_inside(at)) --at;
    lua_pushinteger(in, at + 1);
    return 1;
  }
  if (is_inside(at)) return luaL_error(in, "initial position is a continuation byte");
  for (; n < 0 && at > 0; ++n) {
    do {
      --at;
    } while (at > 0 && is_inside(at));
  }
  if (n > 0) {
    for (--n; n > 0 && at < size; --n) {
      do {
        ++at;
      } while (is_inside(at));
    }
  }
  if (n != 0) {
    lua_pushnil(in);
  } else {
    lua_pushinteger(in, at + 1);
  }
  return 1;
}

// (string, start of the previous character) → start of the next character, and its code
int next_code(lua_State* in) {
  const std::string_view text = check_string(in, 1);
  auto at =
      static_cast<std::size_t>(luaL_checkinteger(in, 2));  // after the previous one's first byte
  while (at < text.size() && at > 0 && continues(text[at])) ++at;
  if (at >= text.size()) return 0;
  const auto one = read(text, at);
  if (!one) return luaL_error(in, "invalid UTF-8 code");
  lua_pushinteger(in, static_cast<lua_Integer>(at) + 1);
  lua_pushinteger(in, static_cast<lua_Integer>(one->code));
  return 2;
}

// utf8.codes(s)
int codes(lua_State* in) {
  check_string(in, 1);
  lua_pushcfunction(in, next_code);
  lua_pushvalue(in, 1);
  lua_pushinteger(in, 0);
  return 3;
}

}  // namespace

void open_utf8(lua_State* of) {
  constexpr luaL_Reg functions[] = {{"char", make},   {"codepoint", codepoint},
                                    {"len", len},     {"offset", offset},
                                    {"codes", codes}, {nullptr, nullptr}};
  lua_newtable(of);
  luaL_setfuncs(of, functions, 0);
  lua_pushliteral(of, "[%z\1-\x7F\xC2-\xF4][\x80-\xBF]*");
  lua_setfield(of, -2, "charpattern");
  lua_setglobal(of, "utf8");
}

}  // namespace troupe::lua::detail
