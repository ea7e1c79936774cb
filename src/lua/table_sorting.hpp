// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>

#include "governor.hpp"

namespace troupe::lua::detail {

/// Sorts the table at index 1 of the stack by the function at index 2, by < if that is nil. Nothing else is there.
///
/// Quicksort: how deep it nests is bounded, how long it takes is not, so that steps are spent.
/// Errors: Lua's own, of comparing and of the table's metamethods; another one if the order is found to be none.
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
