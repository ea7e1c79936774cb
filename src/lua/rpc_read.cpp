// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
#include <exception>
#include <utility>

#include "rpc.hpp"
#include "utf8.hpp"

namespace troupe::lua::detail {
namespace {

constexpr auto one_of_three = "a message has one of method, result and error";

// Describes the value on top of the stack for humans: short, and UTF-8.
std::string described(lua_State* in) {
  switch (lua_type(in, -1)) {
    case LUA_TNIL:
      return "none";
    case LUA_TBOOLEAN:
      return lua_toboolean(in, -1) != 0 ? "true" : "false";
    case LUA_TTABLE:
      return is_marked_as_array(in, -1) ? "an array" : "a map";
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* const bytes = lua_tolstring(in, -1, &size);
      const std::string_view text{bytes, size};
      if (!is_utf8(text)) return "bytes";
      constexpr std::size_t shown = 40;
      const std::string_view begin = beginning_of(text, shown);
      return '"' + std::string(begin) + (begin.size() < size ? "…\"" : "\"");
    }
    case LUA_TNUMBER: {
      lua_pushvalue(in, -1);
      std::string digits = lua_tostring(in, -1);
      lua_pop(in, 1);
      return digits;
    }
    default:
      return "null";
  }
}

// Accepts an integer, or a float without a fraction, because JSON does not distinguish them.
// Strings are rejected.
bool integer_on_top(lua_State* in, lua_Integer least, lua_Integer most, lua_Integer& value) {
  if (lua_type(in, -1) != LUA_TNUMBER) return false;
  int is_integer = 0;
  value = lua_tointegerx(in, -1, &is_integer);
  return is_integer != 0 && value >= least && value <= most;
}

// Examines one message, a value on top of the stack.
class looking {
 public:
  looking(lua_State* in, const rpc_limits& allowed) noexcept
      : lua_(in), allowed_(allowed), message_(lua_gettop(in)) {}

  rpc_message look() && {
    lua_pushvalue(lua_, message_);
    if (!lua_istable(lua_, -1) || is_marked_as_array(lua_, -1)) {
      return invalid("a message is a map, not " + described(lua_));
    }
    lua_pop(lua_, 1);
    if (has("method")) return call();
    const bool is_result = has("result");
    const bool is_error = has("error");
    if (is_result == is_error) return invalid(one_of_three);
    return is_result ? result() : error();
  }

 private:
  using kind = rpc_message::kind;

  // Pushes a member. If it is absent, returns false and pushes nil.
  bool push(const char* name) { return push(name, message_); }
  bool push(const char* name, int of) {
    lua_pushstring(lua_, name);
    return lua_rawget(lua_, of) != LUA_TNIL;
  }

  bool has(const char* name) {
    const bool is_there = push(name);
    lua_pop(lua_, 1);
    return is_there;
  }

  rpc_message call() {
    if (push("id")) {
      if (!take_id()) return invalid("id: an integer from 0 to 2^53 - 1, not " + described(lua_));
      got_.what = kind::request;
    } else {
      got_.what = kind::notification;
    }
    if (has("result") || has("error")) return invalid(one_of_three);
    push("method");
    if (!take_method()) {
      return invalid("method: a string of 1 to " + std::to_string(allowed_.method_bytes) +
                     " bytes, not " + described(lua_));
    }
    if (push("ch")) {
      lua_Integer channel = 0;
      if (!integer_on_top(lua_, 0, 255, channel)) {
        return invalid("ch: an integer from 0 to 255, not " + described(lua_));
      }
      got_.channel = static_cast<std::uint8_t>(channel);
    }
    push("params");
    return std::move(got_);
  }

  rpc_message result() {
    push("id");
    if (!take_id()) return invalid("id: the id of a request, not " + described(lua_));
    got_.what = kind::result;
    push("result");
    return std::move(got_);
  }

  rpc_message error() {
    push("id");
    if (!is_null(lua_, -1) && !take_id()) {
      return invalid("id: the id of a request, or null, not " + described(lua_));
    }
    push("error");
    if (!lua_istable(lua_, -1)) return invalid("error: a map, not " + described(lua_));
    const int error = lua_gettop(lua_);
    push("code", error);
    lua_Integer code = 0;
    if (!integer_on_top(lua_, LUA_MININTEGER, LUA_MAXINTEGER, code)) {
      return invalid("error.code: an integer, not " + described(lua_));
    }
    push("message", error);
    if (lua_type(lua_, -1) != LUA_TSTRING) {
      return invalid("error.message: a string, not " + described(lua_));
    }
    got_.text = string_on_top();
    got_.code = code;
    got_.what = kind::error;
    push("data", error);
    return std::move(got_);
  }

  bool take_id() {
    lua_Integer id = 0;
    if (!integer_on_top(lua_, 0, static_cast<lua_Integer>(request_id_max), id)) return false;
    got_.id = static_cast<request_id>(id);
    return true;
  }

  bool take_method() {
    if (lua_type(lua_, -1) != LUA_TSTRING) return false;
    const std::string_view name = string_on_top();
    if (name.empty() || name.size() > allowed_.method_bytes || !is_utf8(name)) return false;
    got_.method = name;
    return true;
  }

  std::string_view string_on_top() {
    std::size_t size = 0;
    const char* const bytes = lua_tolstring(lua_, -1, &size);
    return {bytes, size};
  }

  // The reply to an invalid request has its id. A message that is not a request gets no reply with
  // its id, because such an id belongs to the requests of the other side.
  rpc_message invalid(std::string why) {
    rpc_message wrong;
    if (got_.what == kind::request) wrong.id = got_.id;
    wrong.code = static_cast<std::int64_t>(rpc_code::invalid_request);
    wrong.text = std::move(why);
    return wrong;
  }

  lua_State* const lua_;
  const rpc_limits& allowed_;
  const int message_;
  rpc_message got_{};
};

rpc_message invalid(rpc_code code, std::string why) {
  return {.code = static_cast<std::int64_t>(code), .text = std::move(why)};
}

rpc_message read_frame(lua_State* to, encoding as, bool text_frame, std::string_view frame,
                       const rpc_limits& allowed) {
  if (text_frame != is_text(as)) {
    return invalid(rpc_code::invalid_request, std::string(subprotocol_of(as)) +
                                                  (text_frame ? " has no text" : " has no binary") +
                                                  " frames");
  }
  if (auto wrong = push_decoded(to, frame, as, allowed.values)) {
    return invalid(rpc_code::parse_error, std::move(*wrong));
  }
  return looking(to, allowed).look();
}

}  // namespace

rpc_message rpc_reader::read(lua_State* to, bool text_frame, std::string_view frame) {
  luaL_checkstack(to, 12, nullptr);
  const int top = lua_gettop(to);
  try {
    rpc_message got = read_frame(to, as_, text_frame, frame, allowed_);
    if (got.what == rpc_message::kind::invalid) {
      ++malformed_;
      got.answer = error_message(as_, got.id, static_cast<rpc_code>(got.code), got.text);
      lua_settop(to, top);
      lua_pushnil(to);
    } else {
      lua_replace(to, top + 1);
      lua_settop(to, top + 1);
    }
    return got;
  } catch (const std::exception&) {
    luaL_error(to, "not enough memory");
  }
  std::abort();  // unreachable
}

}  // namespace troupe::lua::detail
