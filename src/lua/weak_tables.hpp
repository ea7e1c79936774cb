// SPDX-License-Identifier: Apache-2.0
#pragma once

struct lua_State;

namespace troupe::lua::detail {

/// Removes weak keys from the scripts of a new state, whatever they write into metatables. Weak
/// values remain available, by check_weakness().
///
/// Lua collects tables with weak keys in one step, which cannot be interrupted and whose time grows
/// with the square of their entries: a chain of 32,000 takes 6 s. For tables with weak values it is
/// one pass over their entries.
///
/// Errors: raises Lua's, for lack of memory, or if this Lua still has weak keys.
void forbid_weak_keys(lua_State* of);

/// For setmetatable, with a metatable at index 2. If its __mode asks for weak values, another
/// metatable, which makes values weak, replaces it on the stack.
///
/// Errors: raises one if __mode is anything else, or not the metatable's only field.
void check_weakness(lua_State* in);

}  // namespace troupe::lua::detail
