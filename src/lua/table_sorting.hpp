// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>

#include "governor.hpp"

namespace troupe::lua::detail {

/// Sorts the table at index 1 of the stack with the function at index 2, or with < if that is nil.
/// The stack holds nothing else.
///
/// It is a quicksort. The depth of its recursion is bounded but its time is not, so it spends
/// steps.
/// Errors: Lua's own, from comparisons and from the table's metamethods; another one if the order
///         is found to be inconsistent.
class table_sorting {
 public:
  explicit table_sorting(lua_State* in)
      : lua_(in), governor_(governor::of(in)), by_function_(lua_isfunction(in, 2)) {}

  void sort(lua_Integer first, lua_Integer last);

 private:
  void get(lua_Integer index);
  bool is_less(int one, int other);
  bool sort_two(lua_Integer first, lua_Integer second);

  struct halves {
    lua_Integer left_last;
    lua_Integer right_first;
  };
  halves divide(lua_Integer first, lua_Integer last);

  lua_State* const lua_;
  governor& governor_;
  const bool by_function_;
};

}  // namespace troupe::lua::detail
