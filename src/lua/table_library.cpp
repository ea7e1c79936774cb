// SPDX-License-Identifier: Apache-2.0

// Lua's table library. Each element spends a step: a table itself defines its length (__len), and
// the elements in between may need no memory (__index).

#include <climits>
#include <cstddef>
#include <lua.hpp>

#include "governor.hpp"
#include "libraries.hpp"
#include "metered_functions.hpp"
#include "table_sorting.hpp"
#include "text_buffer.hpp"

namespace troupe::lua::detail {
namespace {

constexpr const char* reading = "__index";
constexpr const char* writing = "__newindex";
constexpr const char* length = "__len";

// Accepts a table, or a value with these metamethods.
template <class... Names>
void check_table(lua_State* in, int index, Names... needed) {
  if (lua_istable(in, index)) return;
  const int top = lua_gettop(in);
  const bool acts_as_one = ((luaL_getmetafield(in, index, needed) != LUA_TNIL) && ...);
  lua_settop(in, top);
  if (!acts_as_one) luaL_checktype(in, index, LUA_TTABLE);
}

lua_Unsigned from_one(lua_Integer position) { return static_cast<lua_Unsigned>(position) - 1; }

void copy(lua_State* in, int from_table, lua_Integer from, int to_table, lua_Integer to) {
  governor::of(in).spend(in, 1);
  lua_geti(in, from_table, from);
  lua_seti(in, to_table, to);
}

int insert(lua_State* in) {
  check_table(in, 1, reading, writing, length);
  const auto end = static_cast<lua_Integer>(static_cast<lua_Unsigned>(luaL_len(in, 1)) + 1);
  lua_Integer position = end;
  switch (lua_gettop(in)) {
    case 2:
      break;
    case 3:
      position = luaL_checkinteger(in, 2);
      luaL_argcheck(in, from_one(position) < static_cast<lua_Unsigned>(end), 2,
                    "position out of bounds");
      for (lua_Integer i = end; i > position; --i) copy(in, 1, i - 1, 1, i);
      break;
    default:
      return luaL_error(in, "wrong number of arguments to 'insert'");
  }
  lua_seti(in, 1, position);
  return 0;
}

int remove(lua_State* in) {
  check_table(in, 1, reading, writing, length);
  const lua_Integer size = luaL_len(in, 1);
  lua_Integer position = luaL_optinteger(in, 2, size);
  if (lua_gettop(in) > 1) {
    // With a length of n, n + 1 is allowed as well. As in Lua, the error is attributed to the first
    // argument.
    luaL_argcheck(in, position == size || from_one(position) <= static_cast<lua_Unsigned>(size), 1,
                  "position out of bounds");
  }
  lua_geti(in, 1, position);
  for (; position < size; ++position) copy(in, 1, position + 1, 1, position);
  lua_pushnil(in);
  lua_seti(in, 1, position);
  return 1;
}

// move(from, first, last, to [, to_table])
int move(lua_State* in) {
  const lua_Integer first = luaL_checkinteger(in, 2);
  const lua_Integer last = luaL_checkinteger(in, 3);
  const lua_Integer to = luaL_checkinteger(in, 4);
  const int to_table = lua_isnoneornil(in, 5) ? 1 : 5;
  check_table(in, 1, reading);
  check_table(in, to_table, writing);
  if (last >= first) {
    luaL_argcheck(in, first > 0 || last < LUA_MAXINTEGER + first, 3, "too many elements to move");
    const lua_Integer count = last - first + 1;
    luaL_argcheck(in, to <= LUA_MAXINTEGER - count + 1, 4, "destination wrap around");
    const bool overlaps =
        to > first && to <= last && (to_table == 1 || lua_compare(in, 1, to_table, LUA_OPEQ));
    if (overlaps) {
      for (lua_Integer i = count - 1; i >= 0; --i) copy(in, 1, first + i, to_table, to + i);
    } else {
      for (lua_Integer i = 0; i < count; ++i) copy(in, 1, first + i, to_table, to + i);
    }
  }
  lua_pushvalue(in, to_table);
  return 1;
}

// ── concat ────────────────────────────────────────────────────────────────────────────────────

void add_element(lua_State* in, text_buffer& to, lua_Integer index) {
  governor::of(in).spend(in, 1);
  lua_geti(in, 1, index);
  if (!lua_isstring(in, -1)) {
    luaL_error(in, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(in, -1),
               static_cast<LUAI_UACINT>(index));
  }
  spend_string(in, -1);
  to.add_value();
}

int concat(lua_State* in) {
  check_table(in, 1, reading, length);
  const lua_Integer size = luaL_len(in, 1);
  std::size_t separator_size = 0;
  const char* const separator = luaL_optlstring(in, 2, "", &separator_size);
  lua_Integer i = luaL_optinteger(in, 3, 1);
  const lua_Integer last = luaL_optinteger(in, 4, size);
  text_buffer made(in);
  for (; i < last; ++i) {
    add_element(in, made, i);
    made.add({separator, separator_size});
    governor::of(in).spend(in, separator_size / 8);
  }
  if (i == last) add_element(in, made, i);
  made.push();
  return 1;
}

// ── pack, unpack ──────────────────────────────────────────────────────────────────────────────

int pack(lua_State* in) {
  governor::of(in).spend(in, static_cast<std::size_t>(lua_gettop(in)));
  return call_original(in);
}

int unpack(lua_State* in) {
  const lua_Integer first = luaL_optinteger(in, 2, 1);
  const lua_Integer last = lua_isnoneornil(in, 3) ? luaL_len(in, 1) : luaL_checkinteger(in, 3);
  if (first > last) return 0;
  const lua_Unsigned more = static_cast<lua_Unsigned>(last) - static_cast<lua_Unsigned>(first);
  if (more >= INT_MAX || !lua_checkstack(in, static_cast<int>(more + 1))) {
    return luaL_error(in, "too many results to unpack");
  }
  governor::of(in).spend(in, static_cast<std::size_t>(more));  // the stack bounds it
  for (lua_Unsigned i = 0; i <= more; ++i) {
    lua_geti(in, 1, first + static_cast<lua_Integer>(i));
  }
  return static_cast<int>(more + 1);
}

int sort(lua_State* in) {
  check_table(in, 1, reading, writing, length);
  const lua_Integer size = luaL_len(in, 1);
  if (size <= 1) return 0;
  luaL_argcheck(in, size < INT_MAX, 1, "array too big");
  if (!lua_isnoneornil(in, 2)) luaL_checktype(in, 2, LUA_TFUNCTION);
  lua_settop(in, 2);
  table_sorting(in).sort(1, size);
  return 0;
}

}  // namespace

void open_table(lua_State* of) {
  luaL_requiref(of, LUA_TABLIBNAME, luaopen_table, 1);
  constexpr luaL_Reg replaced[] = {{"insert", function<insert>},
                                   {"remove", function<remove>},
                                   {"move", function<move>},
                                   {"concat", function<concat>},
                                   {"unpack", function<unpack>},
                                   {"sort", function<sort>},
                                   {nullptr, nullptr}};
  luaL_setfuncs(of, replaced, 0);
  spend_for(of, "pack", pack);
  lua_pop(of, 1);
}

}  // namespace troupe::lua::detail
