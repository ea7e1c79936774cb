// SPDX-License-Identifier: Apache-2.0

#include <lua.hpp>

#include "governor.hpp"
#include "libraries.hpp"
#include "waiting.hpp"

namespace troupe::lua::detail {
namespace {

// The top of the stack of a coroutine that waits. Scripts have no light userdata, so they cannot
// produce this value.
const char wait_mark = 0;

lua_State* checked_coroutine(lua_State* in) {
  lua_State* const which = lua_tothread(in, 1);
  luaL_argexpected(in, which != nullptr, 1, "coroutine");
  return which;
}

// The result of resuming a coroutine. The values are on its stack, above the earlier ones.
struct outcome {
  int status;
  int values;
};

// Moves that number of values from the top of `in` to `which`, and resumes that.
outcome resume(lua_State* in, lua_State* which, int arguments) {
  if (waits(which)) {
    lua_pop(in, arguments);
    lua_pushliteral(which, "cannot resume a coroutine that is waiting");
    return {LUA_ERRRUN, 1};
  }
  if (!lua_checkstack(which, arguments)) {
    lua_pop(in, arguments);
    lua_pushliteral(which, "too many arguments to resume");
    return {LUA_ERRRUN, 1};
  }
  if (lua_status(which) == LUA_OK && lua_gettop(which) == 0) {
    lua_pop(in, arguments);
    lua_pushliteral(which, "cannot resume dead coroutine");
    return {LUA_ERRRUN, 1};
  }
  governor& bounds = governor::of(in);
  bounds.change(in, which);
  lua_xmove(in, which, arguments);
  outcome got{};
  got.status = lua_resume(which, in, arguments, &got.values);
  bounds.watch(in);
  if (got.status != LUA_OK && got.status != LUA_YIELD) got.values = 1;
  return got;
}

enum class form : lua_KContext { resume, wrap };

int give_results(lua_State* in, lua_State* from, outcome got, form as);

// Continues after a wait: the values above those that were on the stack are the results of the
// wait.
int go_on(lua_State* in, int, lua_KContext context) {
  const form as{context & 1};
  const int below = static_cast<int>(context >> 1);
  lua_State* const which =
      as == form::resume ? lua_tothread(in, 1) : lua_tothread(in, lua_upvalueindex(1));
  end_wait(which);
  return give_results(in, which, resume(in, which, lua_gettop(in) - below), as);
}

int give_results(lua_State* in, lua_State* from, outcome got, form as) {
  if (got.status == LUA_YIELD && waits(from)) {
    const lua_KContext context =
        static_cast<lua_KContext>(lua_gettop(in)) << 1 | static_cast<lua_KContext>(as);
    return wait(in, context, go_on);
  }
  if (got.status != LUA_OK && got.status != LUA_YIELD) {
    governor& bounds = governor::of(in);
    if (as == form::wrap) {
      // As in Lua: its variables are closed, and the error is raised again here.
      bounds.raise_if_killed(in);
      if (lua_status(from) != LUA_OK && lua_status(from) != LUA_YIELD) {
        bounds.watch(from);
        got.status = lua_resetthread(from);
        bounds.watch(in);
      }
      lua_xmove(from, in, 1);
      bounds.raise_if_killed(in);
      if (got.status != LUA_ERRMEM && lua_type(in, -1) == LUA_TSTRING) {
        luaL_where(in, 1);
        lua_insert(in, -2);
        lua_concat(in, 2);
      }
      return lua_error(in);
    }
    bounds.caught(in, got.status);
    lua_pushboolean(in, 0);
    lua_xmove(from, in, 1);
    return 2;
  }
  if (!lua_checkstack(in, got.values + 1)) {
    lua_pop(from, got.values);
    return luaL_error(in, "too many results to resume");
  }
  if (as == form::resume) lua_pushboolean(in, 1);
  lua_xmove(from, in, got.values);
  return got.values + (as == form::resume ? 1 : 0);
}

int coroutine_resume(lua_State* in) {
  lua_State* const which = checked_coroutine(in);
  return give_results(in, which, resume(in, which, lua_gettop(in) - 1), form::resume);
}

int call_wrapped(lua_State* in) {
  lua_State* const which = lua_tothread(in, lua_upvalueindex(1));
  return give_results(in, which, resume(in, which, lua_gettop(in)), form::wrap);
}

int coroutine_wrap(lua_State* in) {
  luaL_checktype(in, 1, LUA_TFUNCTION);
  lua_State* const made = lua_newthread(in);
  lua_pushvalue(in, 1);
  lua_xmove(in, made, 1);
  lua_pushcclosure(in, call_wrapped, 1);
  return 1;
}

// Like Lua's own, with two differences: the error of a killed run passes through it, and it refuses
// to close a coroutine that waits, because its resumer waits for it as well.
int coroutine_close(lua_State* in) {
  lua_State* const which = checked_coroutine(in);
  if (waits(which)) return luaL_error(in, "cannot close a coroutine that is waiting");
  if (governor::was_killed(which))
    return luaL_error(in, "cannot close a coroutine that was killed");
  governor& bounds = governor::of(in);
  if (lua_status(which) != LUA_OK) bounds.change(in, which);  // it may have variables to close
  lua_settop(in, 1);
  lua_pushvalue(in, lua_upvalueindex(1));
  lua_insert(in, 1);
  lua_call(in, 1, LUA_MULTRET);
  bounds.watch(in);
  bounds.raise_if_killed(in);
  return lua_gettop(in);
}

}  // namespace

int wait(lua_State* in) { return wait(in, 0, nullptr); }

int wait(lua_State* in, lua_KContext context, lua_KFunction then) {
  if (!lua_isyieldable(in)) {
    return luaL_error(in,
                      "cannot wait here: not in a metamethod, an iterator, or a function that "
                      "sort, gsub or load calls");
  }
  lua_pushlightuserdata(in, const_cast<char*>(&wait_mark));
  return lua_yieldk(in, 1, context, then);
}

bool waits(lua_State* yielded) noexcept {
  return lua_status(yielded) == LUA_YIELD && lua_gettop(yielded) > 0 &&
         lua_touserdata(yielded, -1) == &wait_mark;
}

void end_wait(lua_State* waiting) noexcept { lua_pop(waiting, 1); }

void open_coroutine(lua_State* of) {
  luaL_requiref(of, LUA_COLIBNAME, luaopen_coroutine, 1);
  constexpr luaL_Reg replaced[] = {
      {"resume", coroutine_resume}, {"wrap", coroutine_wrap}, {nullptr, nullptr}};
  luaL_setfuncs(of, replaced, 0);
  lua_getfield(of, -1, "close");
  lua_pushcclosure(of, coroutine_close, 1);
  lua_setfield(of, -2, "close");
  lua_pop(of, 1);
}

}  // namespace troupe::lua::detail
