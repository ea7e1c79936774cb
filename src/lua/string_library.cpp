// SPDX-License-Identifier: Apache-2.0

// Lua's string library. Functions that are linear in a string spend steps. README.md lists what
// could take long.

#include <algorithm>
#include <cctype>
#include <cstring>
#include <lua.hpp>
#include <string_view>

#include "governor.hpp"
#include "libraries.hpp"
#include "metered_functions.hpp"
#include "string_matching.hpp"
#include "text_buffer.hpp"

namespace troupe::lua::detail {
namespace {

int rep(lua_State* in) {
  std::size_t text_size = 0;
  std::size_t separator_size = 0;
  const char* const text = luaL_checklstring(in, 1, &text_size);
  const lua_Integer times = luaL_checkinteger(in, 2);
  const char* const separator = luaL_optlstring(in, 3, "", &separator_size);
  const std::size_t period = text_size + separator_size;
  if (times <= 0 || period == 0) {
    lua_pushliteral(in, "");
    return 1;
  }
  if (period > static_cast<std::size_t>(LUA_MAXINTEGER / times)) {
    return luaL_error(in, "resulting string too large");
  }
  const std::size_t size = period * static_cast<std::size_t>(times) - separator_size;
  spend_bytes(in, size);
  text_buffer made(in);
  char* const to = made.add_space(size);
  std::memcpy(to, text, text_size);
  if (times > 1) std::memcpy(to + text_size, separator, separator_size);
  for (std::size_t done = std::min(period, size); done < size;) {
    const std::size_t more = std::min(done, size - done);
    std::memcpy(to + done, to, more);
    done += more;
  }
  made.push();
  return 1;
}

// ── Byte by byte ──────────────────────────────────────────────────────────────────────────────

std::string_view check_spent(lua_State* in) {
  std::size_t size = 0;
  const char* const text = luaL_checklstring(in, 1, &size);
  spend_bytes(in, size);
  return {text, size};
}

template <int (*Case)(int)>
int change_case(lua_State* in) {
  const std::string_view text = check_spent(in);
  text_buffer made(in);
  std::transform(text.begin(), text.end(), made.add_space(text.size()),
                 [](char c) { return static_cast<char>(Case(static_cast<unsigned char>(c))); });
  made.push();
  return 1;
}

int reverse(lua_State* in) {
  const std::string_view text = check_spent(in);
  text_buffer made(in);
  std::reverse_copy(text.begin(), text.end(), made.add_space(text.size()));
  made.push();
  return 1;
}

// ── Lua's own functions, with steps ───────────────────────────────────────────────────────────

int reads_first(lua_State* in) {
  spend_string(in, 1);
  return call_original(in);
}

// `given` is the number of bytes that it may put into a buffer of Lua's, which grows by half its
// size.
int makes_string(lua_State* in, std::size_t given) {
  governor::of(in).make_room(in, 3 * given);
  const int results = call_original(in);
  spend_string(in, -1);
  return results;
}

int sub(lua_State* in) {
  const int results = call_original(in);
  spend_string(in, -1);
  return results;
}

int takes_or_gives_many(lua_State* in) {
  governor& bounds = governor::of(in);
  bounds.spend(in, static_cast<std::size_t>(lua_gettop(in)));
  const int results = call_original(in);
  bounds.spend(in, static_cast<std::size_t>(results));
  return results;
}

int reads_both(lua_State* in) {
  spend_string(in, 1);
  spend_string(in, 2);
  return call_original(in);
}

// Converts the arguments of %s to strings here: they may be long, and little of them may be in the
// result.
int format(lua_State* in) {
  std::size_t size = 0;
  const char* const begin = luaL_checklstring(in, 1, &size);
  const std::string_view text{begin, size};
  spend_bytes(in, size);
  const int last = lua_gettop(in);
  int argument = 1;
  std::size_t given = size;
  for (std::size_t at = 0; (at = text.find('%', at)) != text.npos; ++at) {
    do {
      ++at;
    } while (at < size &&
             (text[at] == '-' || text[at] == '+' || text[at] == ' ' || text[at] == '#' ||
              text[at] == '.' || (text[at] >= '0' && text[at] <= '9')));
    if (at == size) break;
    if (text[at] == '%') continue;
    if (++argument > last) break;
    if (text[at] == 's' && lua_type(in, argument) != LUA_TSTRING) {
      luaL_tolstring(in, argument, nullptr);
      lua_replace(in, argument);
    }
    spend_string(in, argument);
    given += lua_rawlen(in, argument);
  }
  return makes_string(in, given);
}

int pack(lua_State* in) {
  std::size_t given = 0;
  for (int i = lua_gettop(in); i > 0; --i) {
    spend_string(in, i);
    if (lua_type(in, i) == LUA_TSTRING) given += lua_rawlen(in, i);
  }
  return makes_string(in, given);
}

int unpack(lua_State* in) {
  spend_string(in, 1);
  const int results = call_original_reading(in, 2);  // it may have searched for a zero
  // The last result is the position that it has reached.
  const lua_Integer begin = luaL_optinteger(in, 3, 1);
  const lua_Integer end = lua_tointeger(in, -1);
  const auto size = static_cast<lua_Integer>(lua_rawlen(in, 2));
  spend_bytes(in, static_cast<std::size_t>(end - (begin < 0 ? size + begin + 1 : begin)));
  governor::of(in).spend(in, static_cast<std::size_t>(results));
  return results;
}

}  // namespace

void open_string(lua_State* of) {
  luaL_requiref(of, LUA_STRLIBNAME, luaopen_string, 1);
  constexpr luaL_Reg replaced[] = {{"rep", function<rep>},
                                   {"lower", function<change_case<std::tolower>>},
                                   {"upper", function<change_case<std::toupper>>},
                                   {"reverse", function<reverse>},
                                   {"find", function<string_find>},
                                   {"match", function<string_match>},
                                   {"gmatch", function<string_gmatch>},
                                   {"gsub", function<string_gsub>},
                                   {nullptr, nullptr}};
  luaL_setfuncs(of, replaced, 0);
  spend_for(of, "packsize", reads_first);
  for (const char* name : {"byte", "char"}) spend_for(of, name, takes_or_gives_many);
  spend_for(of, "sub", sub);
  spend_for(of, "format", format);
  spend_for(of, "pack", pack);
  spend_for(of, "unpack", unpack);
  lua_pushnil(of);
  lua_setfield(of, -2, "dump");
  lua_pop(of, 1);

  // The metamethods of strings do arithmetic, for which they are read as numbers.
  lua_pushliteral(of, "");
  lua_getmetatable(of, -1);
  for (const char* name :
       {"__add", "__sub", "__mul", "__div", "__idiv", "__mod", "__pow", "__unm"}) {
    spend_for(of, name, reads_both);
  }
  lua_pop(of, 2);
}

}  // namespace troupe::lua::detail
