// SPDX-License-Identifier: Apache-2.0

#include "table_sorting.hpp"

#include "metered_functions.hpp"

namespace troupe::lua::detail {

void table_sorting::get(lua_Integer index) {
  governor_.spend(lua_, 1);
  lua_geti(lua_, 1, index);
}

bool table_sorting::is_less(int one, int other) {
  if (!by_function_) {
    spend_string(lua_, one);
    return lua_compare(lua_, one, other, LUA_OPLT) != 0;
  }
  one = lua_absindex(lua_, one);
  other = lua_absindex(lua_, other);
  lua_pushvalue(lua_, 2);
  lua_pushvalue(lua_, one);
  lua_pushvalue(lua_, other);
  lua_call(lua_, 2, 1);
  const bool is = lua_toboolean(lua_, -1) != 0;
  lua_pop(lua_, 1);
  return is;
}

// Returns true if it has exchanged them.
bool table_sorting::sort_two(lua_Integer first, lua_Integer second) {
  get(first);
  get(second);
  const bool wrong = is_less(-1, -2);
  if (wrong) {
    lua_seti(lua_, 1, first);
    lua_seti(lua_, 1, second);
  } else {
    lua_pop(lua_, 2);
  }
  return wrong;
}

// Partitions with Hoare's method. The pivot is the middle element; the first, the middle and the
// last are already in order.
table_sorting::halves table_sorting::divide(lua_Integer first, lua_Integer last) {
  lua_geti(lua_, 1, first + (last - first) / 2);
  const int pivot = lua_gettop(lua_);
  lua_Integer left = first;
  lua_Integer right = last;
  for (;;) {
    // The elements at the ends stop both loops if the order is consistent.
    for (get(++left); is_less(-1, pivot); get(++left)) {
      if (left == last) luaL_error(lua_, "invalid order function for sorting");
      lua_pop(lua_, 1);
    }
    for (get(--right); is_less(pivot, -1); get(--right)) {
      if (right == first) luaL_error(lua_, "invalid order function for sorting");
      lua_pop(lua_, 1);
    }
    if (left >= right) break;
    lua_seti(lua_, 1, left);
    lua_seti(lua_, 1, right);
  }
  lua_settop(lua_, pivot - 1);
  // If they met at one element, that element is in its place.
  return left == right ? halves{right - 1, left + 1} : halves{right, left};
}

void table_sorting::sort(lua_Integer first, lua_Integer last) {
  while (first < last) {
    sort_two(first, last);
    if (last - first == 1) return;
    const lua_Integer middle = first + (last - first) / 2;
    if (!sort_two(first, middle)) sort_two(middle, last);
    if (last - first == 2) return;
    const auto [left_last, right_first] = divide(first, last);
    // The smaller half recurses: at most 31 levels.
    if (left_last - first < last - right_first) {
      sort(first, left_last);
      first = right_first;
    } else {
      sort(right_first, last);
      last = left_last;
    }
  }
}

}  // namespace troupe::lua::detail
