// SPDX-License-Identifier: Apache-2.0

#include <lua.hpp>
#include <string>

#include "program.hpp"
#include "value_codec.hpp"

namespace troupe::lua::detail {
namespace {

// (name, method [, value [, options]])
outgoing check_outgoing(lua_State* in) {
  outgoing what;
  what.to = luaL_checkstring(in, 1);
  what.method = luaL_checkstring(in, 2);
  lua_settop(in, 4);
  if (!lua_isnil(in, 4)) {
    luaL_checktype(in, 4, LUA_TTABLE);
    if (lua_getfield(in, 4, "key") != LUA_TNIL) what.key = luaL_tolstring(in, -1, nullptr);
    lua_settop(in, 4);
  }
  encode(in, 3, encoding::cbor, what.value);
  return what;
}

// troupe.ask(name, method [, value [, {timeout = seconds, key = …}]]): returns the reply; or nil
// and the reason.
int ask(program& whose, lua_State* in) {
  outgoing what = check_outgoing(in);
  duration timeout = std::chrono::seconds(5);
  if (!lua_isnil(in, 4) && lua_getfield(in, 4, "timeout") != LUA_TNIL) {
    timeout = check_seconds(in, lua_gettop(in));
  }
  whose.around().ask(std::move(what), timeout, whose.its_tasks().announce_wait(in));
  return tasks::wait(in);
}

// troupe.send(name, method [, value [, {key = …}]]): returns whether the message was accepted.
int send(program& whose, lua_State* in) {
  const delivery did = whose.around().send(check_outgoing(in));
  lua_pushboolean(in, did == delivery::accepted || did == delivery::paused);
  return 1;
}

}  // namespace

void open_others(lua_State* in, program& whose) {
  constexpr api_function functions[] = {{"ask", api<ask>}, {"send", api<send>}};
  set_functions(in, whose, functions);
}

}  // namespace troupe::lua::detail
