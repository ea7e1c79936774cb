// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <lua.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "value_codec.hpp"

namespace troupe::lua::detail {

/// Builds a value on Lua's stack from the parts that a parser finds. It checks limits and duplicate
/// keys. The parser is responsible for ending containers and for alternating keys and values.
///
/// Each function returns false if it refuses a part; refusal() says why. The caller then removes
/// what is left on the stack.
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

  /// `claimed` is the number of values that the sender states; it may be false.
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
