// SPDX-License-Identifier: Apache-2.0

// How Lua 5.4 calls a handler: from a C++ function that is resumed by continuations.

#include <exception>

#include <troupe/base/clock.hpp>

#include "tasks.hpp"
#include "waiting.hpp"

namespace troupe::lua::detail {

struct tasks::launch {
  tasks* self;
  pushing* push;
};

bool tasks::protect(lua_State* in, pushing work) noexcept {
  const auto call = [](lua_State* inside) {
    return (*static_cast<pushing*>(lua_touserdata(inside, 1)))(inside);
  };
  if (!lua_checkstack(in, 4)) return false;
  const int before = lua_gettop(in);
  lua_pushcfunction(in, call);
  lua_pushlightuserdata(in, &work);
  const int status = lua_pcall(in, 1, 0, 0);
  lua_settop(in, before);
  return status == LUA_OK;
}

tasks::outcome tasks::start(pushing push, std::unique_ptr<ending> then) {
  std::unique_ptr<task> which = take_idle();
  which->then = std::move(then);
  launch with{this, &push};
  lua_pushcfunction(which->thread, begin);
  lua_pushlightuserdata(which->thread, &with);
  return run(std::move(which), 1);
}

// Runs in the task: on the stack are the function and its arguments, then its results.
int tasks::begin(lua_State* in) {
  const launch with = *static_cast<launch*>(lua_touserdata(in, 1));
  tasks* const self = with.self;
  lua_settop(in, 0);
  const int arguments = (*with.push)(in);
  if (arguments == nothing) {
    self->running_->then->not_begun();
    return 0;
  }
  const auto context = reinterpret_cast<lua_KContext>(self);
  lua_callk(in, arguments, LUA_MULTRET, context, finish);
  return finish(in, LUA_OK, context);
}

tasks::outcome tasks::resume(std::uint64_t what, pushing push) {
  const auto found = waiting_.find(what);
  if (found == waiting_.end()) return outcome::done;
  std::unique_ptr<task> which = std::move(found->second);
  waiting_.erase(found);
  end_wait(which->thread);
  lua_pushlightuserdata(which->thread, &push);
  return run(std::move(which), 1);
}

int tasks::wait(lua_State* in) {
  return detail::wait(in, static_cast<lua_KContext>(lua_gettop(in)), deliver);
}

int tasks::deliver(lua_State* in, int, lua_KContext) {
  auto* const push = static_cast<pushing*>(lua_touserdata(in, -1));
  lua_settop(in, 0);
  return (*push)(in);
}

}  // namespace troupe::lua::detail
