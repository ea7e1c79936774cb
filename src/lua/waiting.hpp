// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lua.hpp>

namespace troupe::lua::detail {

/// For a function that scripts call and that has started an operation. Suspends the task until its
/// runner resumes it. The values that it is resumed with are the function's results.
///
/// It passes through coroutines of the script: a wait inside such a coroutine does not look like a
/// yield to its resumer, which waits as well.
///
/// Errors: raises one where waiting is impossible: in metamethods, iterators, callbacks of sort and
///         gsub.
int wait(lua_State* in);

/// The same. On resumption, `then` is called to make the results from the resumed values.
int wait(lua_State* in, lua_KContext context, lua_KFunction then);

/// Whether a coroutine that has yielded waits; otherwise it has yielded on its own.
[[nodiscard]] bool waits(lua_State* yielded) noexcept;

/// To be called before the coroutine is resumed, before the values for it are pushed.
void end_wait(lua_State* waiting) noexcept;

}  // namespace troupe::lua::detail
