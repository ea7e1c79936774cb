// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <lua.hpp>
#include <string_view>

namespace troupe::lua::detail {

// Checks of the arguments of functions that scripts call. Each raises an error that names the
// argument.

std::string_view check_string(lua_State* in, int argument);
/// Checks that a text is UTF-8, as WebSockets require.
void check_text(lua_State* in, int argument, std::string_view text);
/// Returns the id of a client.
[[nodiscard]] std::uint64_t check_client(lua_State* in, int argument);
/// Returns the name of a method of the protocol.
[[nodiscard]] std::string_view check_method(lua_State* in, int argument);
/// Checks the name of something that applications share: 1 to 256 bytes of UTF-8.
std::string_view check_name(lua_State* in, int argument);
/// Checks that a value, which others will receive, is not nil.
void check_value(lua_State* in, int argument);
/// Checks an optional table of options, which may contain only known ones. Returns false if it is
/// absent.
bool check_options(lua_State* in, int argument, std::initializer_list<std::string_view> known);

/// Expects a metatable on top of the stack. Scripts that ask for the metatable get `what` instead.
void lock(lua_State* metatable_on_top, const char* what);

/// Pushes nil and the reason.
int push_why(lua_State* in, const char* why);

}  // namespace troupe::lua::detail
