// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>
#include <string>

#include <troupe/http/client.hpp>
#include <troupe/troupe.hpp>

namespace troupe::lua::detail {

/// What scripts get of a request: a table; or nil, and why there is none.
int push_fetched(lua_State* to, const ask_result<http::fetched>& got);

/// What they get of a WebSocket that could not be connected.
[[nodiscard]] std::string why_not_connected(const ask_result<http::connected>& got);

}  // namespace troupe::lua::detail
