// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>

namespace troupe::lua::detail {

/// For a function that scripts call and that has begun something: lets go of the thread until who runs the
/// task resumes it. What it is resumed with are the function's results.
///
/// It goes through coroutines of the script's own: those that wait are not seen as yielding by who has resumed
/// them, who waits as well.
///
/// Errors: raises one where nothing can wait: in metamethods, iterators, callbacks of sort and gsub.
int wait(lua_State* in);

/// The same, with `then` called when it is resumed, to make results of what it is resumed with.
int wait(lua_State* in, lua_KContext context, lua_KFunction then);

/// Whether a coroutine that has yielded waits; else it has yielded by itself.
[[nodiscard]] bool waits(lua_State* yielded) noexcept;

/// To be called before it is resumed, in front of the values for that.
void end_wait(lua_State* waiting) noexcept;

}  // namespace troupe::lua::detail
