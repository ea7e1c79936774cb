// SPDX-License-Identifier: Apache-2.0

// Patterns of Lua. An input is a line with a pattern, a line with a replacement, and a text.

#include <lua.hpp>
#include <memory>

#include "fuzz.hpp"
#include "lua/pattern.hpp"
#include "lua/state.hpp"

namespace {

using namespace troupe::fuzz;
using namespace troupe::lua::detail;

// Lua's own matching cannot be interrupted, so patterns that take ours more steps are not passed to
// it.
constexpr std::size_t steps_max = 20'000;

struct too_long {};

void count(void* self, std::size_t steps) {
  std::size_t& left = *static_cast<std::size_t*>(self);
  if (steps > left) throw too_long();
  left -= steps;
}

// Searches for the pattern everywhere, and checks each reported match.
bool ends(std::string_view subject, std::string_view pattern) {
  std::size_t left = steps_max;
  pattern_matcher matcher(subject, pattern, {count, &left});
  try {
    for (std::size_t from = 0; from <= subject.size() && matcher.search(from);
         from = matcher.begin() + 1) {
      require(from <= matcher.begin() && matcher.begin() <= matcher.end() &&
                  matcher.end() <= subject.size(),
              "a match lies within the text, and not before where it is looked for");
      for (int i = 0; i < std::max(matcher.captures(), 1); ++i) {
        const auto one = matcher.captured(i);
        if (one.position) {
          require(matcher.begin() <= *one.position && *one.position <= matcher.end(),
                  "a position lies within the match");
        } else {
          require(
              one.text.data() >= matcher.all().data() &&
                  one.text.data() + one.text.size() <= matcher.all().data() + matcher.all().size(),
              "a capture lies within the match");
        }
      }
    }
    matcher.settle();
  } catch (const too_long&) {
    return false;
  } catch (const pattern_error& e) {
    require(!std::string_view(e.what()).empty(), "an error says what is wrong");
  }
  return true;
}

// The result of a function with this body for these arguments, or the error.
std::string answer(lua_State* from, const char* body, std::string_view subject,
                   std::string_view pattern, std::string_view replacement) {
  lua_settop(from, 0);
  if (lua_getfield(from, LUA_REGISTRYINDEX, body) == LUA_TNIL) {
    lua_pop(from, 1);
    require(luaL_loadbufferx(from, body, std::char_traits<char>::length(body), "=", "t") == LUA_OK,
            "the target's script is one");
    lua_pushvalue(from, -1);
    lua_setfield(from, LUA_REGISTRYINDEX, body);
  }
  for (const std::string_view one : {subject, pattern, replacement}) {
    lua_pushlstring(from, one.data(), one.size());
  }
  std::string all = lua_pcall(from, 3, LUA_MULTRET, 0) == LUA_OK ? "" : "error: ";
  for (int i = 1; i <= lua_gettop(from); ++i) {
    std::size_t size = 0;
    const char* const one = luaL_tolstring(from, i, &size);
    all.append(one, size) += '\n';
    lua_pop(from, 1);
  }
  return all;
}

struct closing {
  void operator()(lua_State* which) const noexcept { lua_close(which); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 300) return 0;
  static state ours{bounds{}};
  static const std::unique_ptr<lua_State, closing> theirs{[] {
    lua_State* const made = luaL_newstate();
    luaL_openlibs(made);
    return made;
  }()};

  std::string_view subject = text_of(data, size);
  const std::string_view pattern = take_line(subject);
  const std::string_view replacement = take_line(subject);
  const std::string_view unanchored = pattern.substr(pattern.starts_with('^') ? 1 : 0);
  if (!ends(subject, pattern) || !ends(subject, unanchored)) return 0;
  for (const char* body :
       {"local s, p = ... return string.find(s, p)",
        "local s, p, r = ... return string.find(s, p, #r - 5, true)",
        "local s, p, r = ... return string.match(s, p, #r - 5)",
        "local s, p = ... local t = {} for a, b in string.gmatch(s, p) do t[#t + 1] = tostring(a) "
        "t[#t + 1] = tostring(b) end return table.concat(t, '|')",
        "local s, p, r = ... return string.gsub(s, p, r)",
        "local s, p, r = ... return string.gsub(s, p, {[r] = 'found', a = 1}, 3)",
        "local s, p, r = ... return string.gsub(s, p, function(a, b) return b and tostring(a) .. "
        "tostring(b) end)"}) {
    require(answer(ours.main(), body, subject, pattern, replacement) ==
                answer(theirs.get(), body, subject, pattern, replacement),
            "it finds what Lua's own does");
  }
  return 0;
}
