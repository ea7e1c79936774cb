// SPDX-License-Identifier: Apache-2.0
#pragma once

struct lua_State;

namespace troupe::lua::detail {

/// Takes weak keys away from the scripts of a new state, whatever they write into metatables. Weak
/// values are left, by check_weakness().
///
/// Lua collects tables with weak keys in one step, which nothing can interrupt and whose time grows
/// with the square of their entries: a chain of 32,000 takes 6 s. For tables with weak values it is
/// one pass over their entries.
///
/// Errors: raises Lua's, for lack of memory, or if this Lua has weak keys all the same.
void forbid_weak_keys(lua_State* of);

/// For setmetatable, with a metatable at 2. If its __mode asks for weak values, another metatable,
/// which makes values weak, takes its place on the stack.
///
/// Errors: raises one if __mode is anything else, or not the metatable's only field.
void check_weakness(lua_State* in);

}  // namespace troupe::lua::detail
