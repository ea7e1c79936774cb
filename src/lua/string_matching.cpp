// SPDX-License-Identifier: Apache-2.0

#include "string_matching.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>

#include "governor.hpp"
#include "metered_functions.hpp"
#include "pattern.hpp"
#include "text_buffer.hpp"

namespace troupe::lua::detail {
namespace {

std::string_view checked_string(lua_State* in, int index) {
  std::size_t size = 0;
  const char* const text = luaL_checklstring(in, index, &size);
  return {text, size};
}

void push(lua_State* in, std::string_view text) { lua_pushlstring(in, text.data(), text.size()); }

// Reads the optional position to begin at, which counts from 1, or from the end if negative.
// Returns it counted from 0, or nothing if it lies after the end.
std::optional<std::size_t> checked_begin(lua_State* in, int index, std::size_t size) {
  const lua_Integer wanted = luaL_optinteger(in, index, 1);
  const auto length = static_cast<lua_Integer>(size);
  if (wanted > length + 1) return {};
  if (wanted > 0) return static_cast<std::size_t>(wanted - 1);
  if (wanted == 0 || wanted < -length) return 0;
  return static_cast<std::size_t>(length + wanted);
}

step_meter meter_of(lua_State* in) {
  return {[](void* self, std::size_t steps) {
            auto* const by = static_cast<lua_State*>(self);
            governor::of(by).spend(by, steps);
          },
          in};
}

void push_capture(lua_State* in, const pattern_matcher& from, int index) {
  const auto got = from.captured(index);
  if (got.position) {
    lua_pushinteger(in, static_cast<lua_Integer>(*got.position) + 1);
  } else {
    spend_bytes(in, got.text.size());
    push(in, got.text);
  }
}

int push_captures(lua_State* in, const pattern_matcher& from, int count) {
  luaL_checkstack(in, count, "too many captures");
  for (int i = 0; i < count; ++i) push_capture(in, from, i);
  return count;
}

// A pattern without its optional leading ^.
struct anchored_pattern {
  explicit anchored_pattern(std::string_view whole)
      : anchored(whole.starts_with('^')), rest(whole.substr(anchored ? 1 : 0)) {}
  bool anchored;
  std::string_view rest;
};

bool search(pattern_matcher& with, const anchored_pattern& pattern, std::size_t from) {
  return pattern.anchored ? with.match_at(from) : with.search(from);
}

// ── find, match ───────────────────────────────────────────────────────────────────────────────

// If the text is found soon, a search for its first character is faster than memmem(), whose time
// is bounded. So that is tried first, a limited number of times.
const char* find_in(std::string_view text, std::string_view wanted) {
  if (wanted.empty()) return text.data();
  for (int tries = 0; tries < 16 && wanted.size() <= text.size(); ++tries) {
    const auto* const at =
        static_cast<const char*>(std::memchr(text.data(), wanted.front(), text.size()));
    if (at == nullptr) return nullptr;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()));
    if (text.starts_with(wanted)) return at;
    text.remove_prefix(1);
  }
  return static_cast<const char*>(memmem(text.data(), text.size(), wanted.data(), wanted.size()));
}

int find_plain(lua_State* in, std::string_view subject, std::string_view wanted, std::size_t from) {
  const char* const at = find_in(subject.substr(from), wanted);
  if (at == nullptr) {
    spend_bytes(in, subject.size() - from);
    luaL_pushfail(in);
    return 1;
  }
  const auto begin = static_cast<std::size_t>(at - subject.data());
  spend_bytes(in, begin - from);
  lua_pushinteger(in, static_cast<lua_Integer>(begin) + 1);
  lua_pushinteger(in, static_cast<lua_Integer>(begin + wanted.size()));
  return 2;
}

int find_or_match(lua_State* in, bool find) {
  const std::string_view subject = checked_string(in, 1);
  const std::string_view wanted = checked_string(in, 2);
  const auto from = checked_begin(in, 3, subject.size());
  if (!from) {
    luaL_pushfail(in);
    return 1;
  }
  if (find) {
    spend_bytes(in, wanted.size());
    if (lua_toboolean(in, 4) || is_literal(wanted)) return find_plain(in, subject, wanted, *from);
  }
  const anchored_pattern pattern(wanted);
  pattern_matcher matcher(subject, pattern.rest, meter_of(in));
  const bool found = search(matcher, pattern, *from);
  matcher.settle();
  if (!found) {
    luaL_pushfail(in);
    return 1;
  }
  if (!find) return push_captures(in, matcher, std::max(matcher.captures(), 1));
  lua_pushinteger(in, static_cast<lua_Integer>(matcher.begin()) + 1);
  lua_pushinteger(in, static_cast<lua_Integer>(matcher.end()));
  return push_captures(in, matcher, matcher.captures()) + 2;
}

// ── gmatch ────────────────────────────────────────────────────────────────────────────────────

// The state of an iteration over matches. An empty match is skipped where the last match has ended.
struct matches {
  pattern_matcher matcher;
  std::size_t from;
  std::optional<std::size_t> ended;
};
static_assert(std::is_trivially_destructible_v<matches>);

// Upvalues: the matches, and the strings that they refer to: subject and pattern.
int next_match(lua_State* in) {
  auto& all = *static_cast<matches*>(lua_touserdata(in, lua_upvalueindex(1)));
  pattern_matcher& matcher = all.matcher;
  matcher.report_to(meter_of(in));
  const std::size_t size = lua_rawlen(in, lua_upvalueindex(2));
  while (all.from <= size) {
    if (!matcher.search(all.from)) {
      all.from = size + 1;
      break;
    }
    if (matcher.end() == all.ended) {
      all.from = matcher.begin() + 1;
      continue;
    }
    all.ended = all.from = matcher.end();
    return push_captures(in, matcher, std::max(matcher.captures(), 1));
  }
  return 0;
}

// ── gsub ──────────────────────────────────────────────────────────────────────────────────────

void add_by_template(text_buffer& to, lua_State* in, const pattern_matcher& match,
                     std::string_view text) {
  spend_bytes(in, text.size());
  for (;;) {
    const std::size_t plain = std::min(text.find('%'), text.size());
    to.add(text.substr(0, plain));
    if (plain == text.size()) return;
    text.remove_prefix(plain + 1);
    const char what = text.empty() ? '\0' : text.front();
    if (what == '%') {
      to.add('%');
    } else if (what == '0') {
      to.add(match.all());
      spend_bytes(in, match.all().size());
    } else if (what >= '1' && what <= '9') {
      push_capture(in, match, what - '1');
      to.add_value();
    } else {
      luaL_error(in, "invalid use of '%%' in replacement string");
    }
    text.remove_prefix(1);
  }
}

// Adds the result of a function or a table. Returns false if the match stays as it is.
bool add_answer(text_buffer& to, lua_State* in, const pattern_matcher& match) {
  constexpr int by = 3;
  if (lua_istable(in, by)) {
    push_capture(in, match, 0);
    lua_gettable(in, by);
  } else {
    lua_pushvalue(in, by);
    lua_call(in, push_captures(in, match, std::max(match.captures(), 1)), 1);
  }
  if (!lua_toboolean(in, -1)) {
    lua_pop(in, 1);
    to.add(match.all());
    return false;
  }
  if (!lua_isstring(in, -1)) {
    luaL_error(in, "invalid replacement value (a %s)", luaL_typename(in, -1));
  }
  spend_string(in, -1);
  to.add_value();
  return true;
}

}  // namespace

int string_find(lua_State* in) { return find_or_match(in, true); }
int string_match(lua_State* in) { return find_or_match(in, false); }

int string_gmatch(lua_State* in) {
  const std::string_view subject = checked_string(in, 1);
  const std::string_view pattern = checked_string(in, 2);
  const auto from = checked_begin(in, 3, subject.size());
  lua_settop(in, 2);
  new (lua_newuserdatauv(in, sizeof(matches), 0)) matches{
      pattern_matcher(subject, pattern, meter_of(in)), from.value_or(subject.size() + 1), {}};
  lua_insert(in, 1);
  lua_pushcclosure(in, function<next_match>, 3);
  return 1;
}

int string_gsub(lua_State* in) {
  const std::string_view subject = checked_string(in, 1);
  const anchored_pattern pattern(checked_string(in, 2));
  const lua_Integer most = luaL_optinteger(in, 4, static_cast<lua_Integer>(subject.size()) + 1);
  const int type = lua_type(in, 3);
  luaL_argexpected(
      in, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE,
      3, "string/function/table");
  std::optional<std::string_view> text;
  if (type == LUA_TNUMBER || type == LUA_TSTRING) text = checked_string(in, 3);
  const bool as_it_is = text && text->find('%') == text->npos;

  pattern_matcher matcher(subject, pattern.rest, meter_of(in));
  text_buffer result(in);
  lua_Integer count = 0;
  bool changed = false;
  std::size_t copied = 0;  // part of the subject
  std::size_t from = 0;
  std::optional<std::size_t> ended;  // end of the last match; an empty match there is skipped
  while (count < most && from <= subject.size() && search(matcher, pattern, from)) {
    if (matcher.end() == ended) {
      from = matcher.begin() + 1;
    } else {
      ++count;
      result.add(subject.substr(copied, matcher.begin() - copied));
      if (as_it_is) {
        spend_bytes(in, text->size());
        result.add(*text);
        changed = true;
      } else if (text) {
        add_by_template(result, in, matcher, *text);
        changed = true;
      } else if (add_answer(result, in, matcher)) {
        changed = true;
      }
      from = copied = matcher.end();
      ended = from;
    }
    if (pattern.anchored) break;
  }
  matcher.settle();
  if (changed) {
    spend_bytes(in, subject.size());
    result.add(subject.substr(copied));
    result.push();
  } else {
    lua_pushvalue(in, 1);
  }
  lua_pushinteger(in, count);
  return 2;
}

}  // namespace troupe::lua::detail
