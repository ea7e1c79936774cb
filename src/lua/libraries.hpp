// SPDX-License-Identifier: Apache-2.0
#pragma once

struct lua_State;

namespace troupe::lua::detail {

/// Opens the parts of Lua's own libraries that scripts may use in a new state. Excluded are io,
/// debug, package, bytecode, finalisers, and os except for its clocks and the date.
///
/// Errors: raises Lua's, for lack of memory.
void open_libraries(lua_State* of);

/// The individual libraries. Each sets its global names.
void open_base(lua_State* of);
void open_os(lua_State* of);
void open_coroutine(lua_State* of);
void open_string(lua_State* of);
void open_table(lua_State* of);
void open_utf8(lua_State* of);

}  // namespace troupe::lua::detail
