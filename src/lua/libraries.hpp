// SPDX-License-Identifier: Apache-2.0
#pragma once

struct lua_State;

namespace troupe::lua::detail {

/// Gives a new state all that scripts may use of Lua's own libraries. Left out are io, os but for the clocks and
/// the date, debug, package, bytecode, and finalisers.
///
/// Errors: raises Lua's, for lack of memory.
void open_libraries(lua_State* of);

/// Its parts. Each sets its global names.
void open_base(lua_State* of);
void open_os(lua_State* of);
void open_coroutine(lua_State* of);
void open_string(lua_State* of);
void open_table(lua_State* of);
void open_utf8(lua_State* of);

}  // namespace troupe::lua::detail
