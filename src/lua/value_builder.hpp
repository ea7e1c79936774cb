// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <lua.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "value_codec.hpp"

namespace troupe::lua::detail {

/// Makes a value on Lua's stack out of what a parser finds, one piece after the other; it sees to limits and to
/// keys that come twice. The parser sees to it that containers end and that keys and values take turns.
///
/// Each piece returns false if it is refused; refusal() says why. What is on the stack then is the caller's to
/// remove.
///
/// Errors: raises Lua's for lack of memory, or if the run is killed.
class value_builder {
 public:
  value_builder(lua_State* to, const codec_limits& allowed);

  bool null();
  bool boolean(bool value);
  bool integer(lua_Integer value);
  bool number(lua_Number value);
  bool string(std::string_view value);

  /// With so many values, as somebody says who may not tell the truth.
  bool begin_map(std::size_t claimed);
  bool begin_array(std::size_t claimed);
  bool key(std::string_view name);
  bool end();

  bool refuse(std::string why);
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }

 private:
  struct container {
    bool is_array;
    lua_Integer last;
  };

  bool is_one_too_many();
  bool begin(bool array, std::size_t claimed);
  bool add();

  lua_State* const lua_;
  const codec_limits allowed_;
  std::size_t elements_ = 0;
  std::vector<container> open_;
  std::string refusal_;
};

}  // namespace troupe::lua::detail
