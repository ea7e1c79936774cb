// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <lua.hpp>
#include <string>
#include <string_view>

#include "governor.hpp"
#include "utf8.hpp"
#include "value_codec.hpp"
#include "wire_writer.hpp"

namespace troupe::lua::detail {
namespace {

// One step of the path to the value that is being written.
struct step {
  const step* from;
  std::string_view name;  // of a value in a map
  lua_Integer position;   // of a value in an array
};

void append_path(std::string& to, const step* last) {
  if (last == nullptr) return;
  append_path(to, last->from);
  if (last->name.data() == nullptr) {
    to += '[' + std::to_string(last->position) + ']';
    return;
  }
  constexpr std::size_t name_shown = 40;
  const std::string_view shown = beginning_of(last->name, name_shown);
  const auto is_plain = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (!shown.empty() && std::all_of(shown.begin(), shown.end(), is_plain)) {
    to.append(".").append(shown);
  } else {
    to.append("[\"").append(is_utf8(shown) ? shown : "?").append("\"]");
  }
  if (shown.size() < last->name.size()) to += "…";
}

class encoder {
 public:
  encoder(lua_State* from, encoding as, std::string& to, const codec_limits& allowed) noexcept
      : lua_(from),
        governor_(governor::of(from)),
        to_(to),
        writer_(as, to),
        allowed_(allowed),
        depth_max_(std::min(allowed.depth, codec_limits::depth_max)),
        begin_(to.size()) {}

  void value(int index, const step* at, std::size_t depth) {
    governor_.spend(lua_, 1);
    if (++elements_ > allowed_.elements) {
      refuse("more than " + std::to_string(allowed_.elements) + " values", nullptr);
    }
    switch (const int type = lua_type(lua_, index)) {
      case LUA_TNIL:
        writer_.null();
        break;
      case LUA_TBOOLEAN:
        writer_.boolean(lua_toboolean(lua_, index) != 0);
        break;
      case LUA_TNUMBER:
        if (lua_isinteger(lua_, index)) {
          writer_.integer(lua_tointeger(lua_, index));
        } else if (!writer_.number(lua_tonumber(lua_, index))) {
          refuse("a non-finite number as JSON", at);
        }
        break;
      case LUA_TSTRING:
        if (!writer_.string(string_at(index)))
          refuse("a string that is not valid UTF-8 as JSON", at);
        break;
      case LUA_TTABLE:
        table(index, at, depth);
        break;
      default:
        if (type != LUA_TUSERDATA || !is_null(lua_, index)) {
          refuse(std::string("a ") + luaL_typename(lua_, index), at);
        }
        writer_.null();
    }
    check_size(0);
  }

 private:
  enum class shape { map, array };

  void table(int index, const step* at, std::size_t depth) {
    if (depth == depth_max_) {
      refuse("values nested more than " + std::to_string(depth_max_) + " deep", at);
    }
    luaL_checkstack(lua_, 4, "too deep");
    std::size_t count = 0;
    if (shape_of(index, at, count) == shape::array) {
      writer_.begin_array(count);
      for (lua_Integer i = 1; i <= static_cast<lua_Integer>(count); ++i) {
        writer_.element();
        lua_rawgeti(lua_, index, i);
        const step here{at, {}, i};
        value(lua_gettop(lua_), &here, depth + 1);
        lua_pop(lua_, 1);
      }
      writer_.end_array();
      return;
    }
    writer_.begin_map(count);
    lua_pushnil(lua_);
    while (lua_next(lua_, index) != 0) {
      const int top = lua_gettop(lua_);
      const step here{at, string_at(top - 1), 0};
      if (!writer_.key(here.name)) refuse("a key that is not valid UTF-8", &here);
      value(top, &here, depth + 1);
      lua_pop(lua_, 1);
    }
    writer_.end_map();
  }

  shape shape_of(int index, const step* at, std::size_t& count) {
    std::size_t names = 0;
    std::size_t positions = 0;
    lua_Integer last = 0;
    lua_pushnil(lua_);
    while (lua_next(lua_, index) != 0) {
      governor_.spend(lua_, 1);
      lua_pop(lua_, 1);
      if (lua_type(lua_, -1) == LUA_TSTRING) {
        ++names;
      } else if (lua_isinteger(lua_, -1)) {
        ++positions;
        const lua_Integer key = lua_tointeger(lua_, -1);
        if (key < 1) refuse_positions(at);
        last = std::max(last, key);
      } else {
        refuse(std::string("a table with a ") + luaL_typename(lua_, -1) + " as a key", at);
      }
    }
    count = names + positions;
    if (positions == 0 && (names > 0 || !is_marked_as_array(lua_, index))) {
      if (names > 0 && is_marked_as_array(lua_, index)) refuse("an array with string keys", at);
      return shape::map;
    }
    if (names > 0) refuse("a table with both number and string keys", at);
    if (static_cast<std::size_t>(last) != positions) refuse_positions(at);
    return shape::array;
  }

  std::string_view string_at(int index) {
    std::size_t size = 0;
    const char* const text = lua_tolstring(lua_, index, &size);
    check_size(size);
    governor_.spend(lua_, size / 16);
    return {text, size};
  }

  void check_size(std::size_t more) {
    const std::size_t had = to_.size() - begin_;
    if (more <= allowed_.bytes && had <= allowed_.bytes - more) return;
    refuse("more than " + std::to_string(allowed_.bytes) + " bytes", nullptr);
  }

  [[noreturn]] void refuse_positions(const step* at) {
    refuse("a table whose number keys are not exactly 1 to n", at);
  }

  [[noreturn]] void refuse(const std::string& what, const step* at) {
    std::string text = "cannot encode " + what;
    if (at != nullptr) {
      std::string path;
      append_path(path, at);
      constexpr std::size_t path_shown = 200;
      text.append(" at ").append(beginning_of(path, path_shown));
      if (path.size() > path_shown) text += "…";
    }
    luaL_where(lua_, 1);
    lua_pushlstring(lua_, text.data(), text.size());
    lua_concat(lua_, 2);
    lua_error(lua_);
    std::abort();  // unreachable
  }

  lua_State* const lua_;
  governor& governor_;
  std::string& to_;
  wire_writer writer_;
  const codec_limits allowed_;
  const std::size_t depth_max_;
  const std::size_t begin_;
  std::size_t elements_ = 0;
};

}  // namespace

void encode(lua_State* from, int index, encoding as, std::string& to, const codec_limits& allowed) {
  luaL_checkstack(from, 4, nullptr);
  try {
    encoder(from, as, to, allowed).value(lua_absindex(from, index), nullptr, 0);
  } catch (const std::exception&) {
    luaL_error(from, "not enough memory");
  }
}

}  // namespace troupe::lua::detail
