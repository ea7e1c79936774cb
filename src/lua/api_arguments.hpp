// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <lua.hpp>
#include <string_view>

namespace troupe::lua::detail {

// What functions that scripts call ask of their arguments. All raise errors that name the argument.

std::string_view check_string(lua_State* in, int argument);
/// That a text is UTF-8, as WebSockets want it.
void check_text(lua_State* in, int argument, std::string_view text);
/// The number of a client.
[[nodiscard]] std::uint64_t check_client(lua_State* in, int argument);
/// The name of a method of the protocol.
[[nodiscard]] std::string_view check_method(lua_State* in, int argument);
/// Of what applications share: 1 to 256 bytes of UTF-8.
std::string_view check_name(lua_State* in, int argument);
/// A value that others will get, which is not nil.
void check_value(lua_State* in, int argument);
/// A table of options, none but these, or nothing. False: there is none.
bool check_options(lua_State* in, int argument, std::initializer_list<std::string_view> known);

/// With a metatable on top: scripts see `what` in its place.
void lock(lua_State* metatable_on_top, const char* what);

/// nil, and why.
int push_why(lua_State* in, const char* why);

}  // namespace troupe::lua::detail
