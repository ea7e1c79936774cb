// SPDX-License-Identifier: Apache-2.0

// A C++ function cannot continue after a wait here, so resume and wrap are written in Lua.

#include <lua.hpp>

#include "lua/libraries.hpp"
#include "lua/waiting.hpp"

namespace troupe::lua::detail {
namespace {

// The value that a waiting coroutine yields. Scripts have no light userdata, so they cannot produce
// this value.
const char wait_mark = 0;

constexpr char library[] = R"(
local mark, coroutine = ...
local resume, yield, create = coroutine.resume, coroutine.yield, coroutine.create
local waiting = setmetatable({}, {__mode = 'k'})
local pass

-- What it was waiting for is there: the values after it.
local function go_on(which, ...)
  waiting[which] = nil
  return pass(which, resume(which, ...))
end

-- Where it waits, who has resumed it waits too.
function pass(which, ...)
  local ok, first = ...
  if ok and first == mark then
    waiting[which] = true
    return go_on(which, yield(mark))
  end
  return ...
end

function coroutine.resume(which, ...)
  if which and waiting[which] then
    return false, 'cannot resume a coroutine that is waiting'
  end
  return pass(which, resume(which, ...))
end

local resume_it = coroutine.resume
local function results(ok, ...)
  if ok then return ... end
  error((...), 0)
end

function coroutine.wrap(f)
  local made = create(f)
  return function(...) return results(resume_it(made, ...)) end
end
)";

}  // namespace

int wait(lua_State* in) {
  if (!lua_isyieldable(in)) {
    return luaL_error(in, "cannot wait here: not in a function that sort, gsub or load calls");
  }
  lua_pushlightuserdata(in, const_cast<char*>(&wait_mark));
  return lua_yield(in, 1);
}

bool waits(lua_State* yielded) noexcept {
  return lua_status(yielded) == LUA_YIELD && lua_gettop(yielded) > 0 &&
         lua_touserdata(yielded, -1) == &wait_mark;
}

void end_wait(lua_State* waiting) noexcept { lua_pop(waiting, 1); }

void open_coroutine(lua_State* of) {
  if (luaL_loadbufferx(of, library, sizeof library - 1, "=coroutine", "t") != LUA_OK) lua_error(of);
  lua_pushlightuserdata(of, const_cast<char*>(&wait_mark));
  lua_getglobal(of, LUA_COLIBNAME);
  lua_call(of, 2, 0);
}

}  // namespace troupe::lua::detail
