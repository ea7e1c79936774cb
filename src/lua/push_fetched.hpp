// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>
#include <string>

#include <troupe/http/client.hpp>
#include <troupe/troupe.hpp>

namespace troupe::lua::detail {

/// Pushes the result of a request for a script: a table, or nil and the reason.
int push_fetched(lua_State* to, const ask_result<http::fetched>& got);

/// Returns why a WebSocket could not be connected, for a script.
[[nodiscard]] std::string why_not_connected(const ask_result<http::connected>& got);

}  // namespace troupe::lua::detail
