// SPDX-License-Identifier: Apache-2.0

#include <lua.hpp>

#include "program.hpp"

namespace troupe::lua::detail {
namespace {

constexpr const char* timer_type = "troupe.timer";

// troupe.sleep(seconds)
int sleep(program& whose, lua_State* in) {
  const duration time = check_seconds(in, 1);
  whose.around().wake_after(whose.its_tasks().announce_wait(in), time);
  return tasks::wait(in);
}

int arm(program& whose, lua_State* in, bool again) {
  const duration time = check_seconds(in, 1);
  luaL_checktype(in, 2, LUA_TFUNCTION);
  luaL_argcheck(in, !again || time >= std::chrono::milliseconds(1), 1, "at least 0.001 seconds");
  lua_settop(in, 2);
  auto* const made = static_cast<std::uint64_t*>(lua_newuserdatauv(in, sizeof(std::uint64_t), 0));
  *made = 0;
  luaL_setmetatable(in, timer_type);
  lua_insert(in, 2);
  *made = whose.arm(in, time, again);
  return 1;
}

// troupe.after(seconds, f), troupe.every(seconds, f): return a timer.
int after(program& whose, lua_State* in) { return arm(whose, in, false); }
int every(program& whose, lua_State* in) { return arm(whose, in, true); }

// timer:cancel(): returns whether the timer was armed.
int cancel(program& whose, lua_State* in) {
  const auto* const which = static_cast<std::uint64_t*>(luaL_checkudata(in, 1, timer_type));
  lua_pushboolean(in, whose.disarm(*which));
  return 1;
}

}  // namespace

void open_timers(lua_State* in, program& whose) {
  constexpr api_function functions[] = {
      {"sleep", api<sleep>}, {"after", api<after>}, {"every", api<every>}};
  set_functions(in, whose, functions);

  luaL_newmetatable(in, timer_type);
  lua_newtable(in);
  constexpr api_function methods[] = {{"cancel", api<cancel>}};
  set_functions(in, whose, methods);
  lua_setfield(in, -2, "__index");
  lua_pushliteral(in, "a timer");
  lua_setfield(in, -2, "__metatable");
  lua_pop(in, 1);
}

}  // namespace troupe::lua::detail
