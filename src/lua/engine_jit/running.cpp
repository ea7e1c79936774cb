// SPDX-License-Identifier: Apache-2.0

// How LuaJIT calls a handler: from a Lua function, because code with a C++ frame below it cannot
// wait.

#include <exception>
#include <lua.hpp>
#include <new>
#include <utility>

#include <troupe/base/clock.hpp>

#include "lua/tasks.hpp"
#include "lua/waiting.hpp"

namespace troupe::lua::detail {
namespace {

// Its address is the registry key of the function with which each coroutine begins.
const char caller_key = 0;

// begin() returns the handler and its arguments, or nothing; finish() takes the results.
constexpr char caller[] = R"(
local begin, finish = ...
local function call(handler, ...)
  if handler then return finish(handler(...)) end
end
return function(launch) return call(begin(launch)) end
)";

}  // namespace

struct tasks::launch {
  tasks* self;
  pushing* push;
};

// Collects first, because LuaJIT does not collect when memory runs out: if most of it is garbage,
// `work` would have no memory.
bool tasks::protect(lua_State* in, pushing work) noexcept {
  const governor& bounds = governor::of(in);
  if (bounds.memory() > bounds.allowed().memory_soft) lua_gc(in, LUA_GCCOLLECT);
  const int before = lua_gettop(in);
  const auto call = [](lua_State* inside) {
    return (*static_cast<pushing*>(lua_touserdata(inside, 1)))(inside);
  };
  const int status = lua_cpcall(in, call, &work);
  lua_settop(in, before);
  return status == LUA_OK;
}

tasks::outcome tasks::start(pushing push, std::unique_ptr<ending> then) {
  std::unique_ptr<task> which = take_idle();
  which->then = std::move(then);
  lua_State* const thread = which->thread;
  if (lua_rawgetp(thread, LUA_REGISTRYINDEX, &caller_key) == LUA_TNIL) {
    lua_pop(thread, 1);
    const auto make = [this](lua_State* in) {
      if (luaL_loadbufferx(in, caller, sizeof caller - 1, "=troupe", "t") != LUA_OK) lua_error(in);
      lua_pushcfunction(in, begin);
      lua_pushlightuserdata(in, this);
      lua_pushcclosure(
          in,
          [](lua_State* inside) {
            const auto self = lua_touserdata(inside, lua_upvalueindex(1));
            return finish(inside, LUA_OK, reinterpret_cast<lua_KContext>(self));
          },
          1);
      lua_call(in, 2, 1);
      lua_rawsetp(in, LUA_REGISTRYINDEX, &caller_key);
      return 0;
    };
    if (!protect(state_.main(), make)) throw std::bad_alloc();
    lua_rawgetp(thread, LUA_REGISTRYINDEX, &caller_key);
  }
  launch with{this, &push};
  lua_pushlightuserdata(thread, &with);
  return run(std::move(which), 1);
}

int tasks::begin(lua_State* in) {
  const launch with = *static_cast<launch*>(lua_touserdata(in, 1));
  lua_settop(in, 0);
  const int arguments = (*with.push)(in);
  if (arguments != nothing) return 1 + arguments;
  with.self->running_->then->not_begun();
  return 0;
}

// The results are first pushed elsewhere: an error on a waiting coroutine would not be caught.
tasks::outcome tasks::resume(std::uint64_t what, pushing push) {
  const auto found = waiting_.find(what);
  if (found == waiting_.end()) return outcome::done;
  std::unique_ptr<task> which = std::move(found->second);
  waiting_.erase(found);
  lua_State* const thread = which->thread;
  end_wait(thread);

  int results = 0;
  const auto give = [&](lua_State* in) {
    lua_settop(in, 0);
    results = push(in);
    luaL_checkstack(thread, results, "too many results");
    lua_xmove(in, thread, results);
    return 0;
  };
  state_.governor().begin(clock::now());
  const bool are_there = protect(state_.main(), give);
  const governor::verdict verdict = state_.governor().end();
  if (!are_there) return fail(std::move(which), verdict, "not enough memory");
  return run(std::move(which), results);
}

int tasks::wait(lua_State* in) { return detail::wait(in); }

}  // namespace troupe::lua::detail
