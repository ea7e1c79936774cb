// SPDX-License-Identifier: Apache-2.0

#include <lua.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api_arguments.hpp"
#include "program.hpp"
#include "sharing.hpp"
#include "value_codec.hpp"

namespace troupe::lua::detail {
namespace {

constexpr std::size_t key_bytes_max = 256;
constexpr lua_Integer keys_usual = 100;
constexpr lua_Integer keys_most = 10'000;

// The second upvalue is the store, which lives as long as the community.
shared_store& store_of(lua_State* in) {
  return *static_cast<shared_store*>(lua_touserdata(in, lua_upvalueindex(2)));
}

std::string_view check_key(lua_State* in) {
  const std::string_view key = check_string(in, 1);
  luaL_argcheck(in, !key.empty() && key.size() <= key_bytes_max, 1, "a key of 1 to 256 bytes");
  return key;
}

shared_store::value check_stored(lua_State* in, int argument) {
  check_value(in, argument);
  std::string bytes;
  encode(in, argument, encoding::cbor, bytes);
  return std::make_shared<const std::string>(std::move(bytes));
}

time_point until(lua_State* in, int seconds) {
  const duration time = check_seconds(in, seconds);
  luaL_argcheck(in, time > duration::zero(), seconds,
                "the time to live must be more than 0 seconds");
  return later(clock::now(), time);
}

// {ttl = seconds}
time_point check_until(lua_State* in, int argument) {
  if (!check_options(in, argument, {"ttl"})) return shared_store::never;
  if (lua_getfield(in, argument, "ttl") == LUA_TNIL) return shared_store::never;
  return until(in, lua_gettop(in));
}

void remember(program& whose, time_point ends) {
  if (ends != shared_store::never) whose.around().shared().all().expires_something();
}

int push_written(lua_State* in, shared_store::written did) {
  if (did == shared_store::written::full) return push_why(in, "full");
  lua_pushboolean(in, did == shared_store::written::done);
  return 1;
}

// store.get(key): returns the value and its version; or nil.
int get(program&, lua_State* in) {
  const auto found = store_of(in).get(check_key(in), clock::now());
  if (!found) {
    lua_pushnil(in);
    return 1;
  }
  if (const auto wrong = push_decoded(in, *found->value, encoding::cbor)) {
    luaL_error(in, "a stored value is malformed: %s", wrong->c_str());
  }
  lua_pushinteger(in, static_cast<lua_Integer>(found->version));
  return 2;
}

// store.set(key, value [, {ttl = seconds}]): returns true; or nil and "full".
int set(program& whose, lua_State* in) {
  lua_settop(in, 3);
  const std::string_view key = check_key(in);
  shared_store::value value = check_stored(in, 2);
  const time_point ends = check_until(in, 3);
  const auto did = store_of(in).set(key, std::move(value), ends, clock::now());
  remember(whose, ends);
  return push_written(in, did);
}

// store.add(key, value [, {ttl = seconds}]): returns whether the key did not exist; or nil and
// "full".
int add(program& whose, lua_State* in) {
  lua_settop(in, 3);
  const std::string_view key = check_key(in);
  shared_store::value value = check_stored(in, 2);
  const time_point ends = check_until(in, 3);
  const auto did = store_of(in).add(key, std::move(value), ends, clock::now());
  remember(whose, ends);
  return push_written(in, did);
}

// store.compare_and_set(key, version, value [, {ttl = seconds}]): returns whether the key had that
// version; or nil and "full".
int compare_and_set(program& whose, lua_State* in) {
  lua_settop(in, 4);
  const std::string_view key = check_key(in);
  const lua_Integer version = luaL_optinteger(in, 2, 0);
  luaL_argcheck(in, version >= 0, 2,
                "a version as get() returns it; 0 or nil if the key must not exist");
  shared_store::value value = check_stored(in, 3);
  const time_point ends = check_until(in, 4);
  const auto did = store_of(in).compare_and_set(key, static_cast<std::uint64_t>(version),
                                                std::move(value), ends, clock::now());
  remember(whose, ends);
  return push_written(in, did);
}

// store.increment(key [, by [, {ttl = seconds}]]): returns the sum; or nil and the reason.
int increment(program& whose, lua_State* in) {
  using outcome = shared_store::increased::outcome;
  lua_settop(in, 3);
  const std::string_view key = check_key(in);
  const lua_Integer by = luaL_optinteger(in, 2, 1);
  const time_point ends = check_until(in, 3);
  const shared_store::increased did = store_of(in).increase(key, by, ends, clock::now());
  remember(whose, ends);
  switch (did.what) {
    case outcome::done:
      break;
    case outcome::no_integer:
      return push_why(in, "the value is not an integer");
    case outcome::too_large:
      return push_why(in, "the sum does not fit into 64 bits");
    case outcome::full:
      return push_why(in, "full");
  }
  lua_pushinteger(in, did.value);
  return 1;
}

// store.delete(key): returns whether the key existed.
int remove(program&, lua_State* in) {
  lua_pushboolean(in, store_of(in).remove(check_key(in), clock::now()));
  return 1;
}

// store.expire(key [, seconds]): returns whether the key exists; without seconds it never expires.
int expire(program& whose, lua_State* in) {
  const std::string_view key = check_key(in);
  const time_point ends = lua_isnoneornil(in, 2) ? shared_store::never : until(in, 2);
  lua_pushboolean(in, store_of(in).expire(key, ends, clock::now()));
  remember(whose, ends);
  return 1;
}

// store.keys([prefix [, limit [, after]]]): returns an array, in order.
int keys(program&, lua_State* in) {
  const auto text = [&](int argument) {
    return lua_isnoneornil(in, argument) ? std::string_view() : check_string(in, argument);
  };
  const std::string_view prefix = text(1);
  const lua_Integer limit = luaL_optinteger(in, 2, keys_usual);
  luaL_argcheck(in, limit >= 1 && limit <= keys_most, 2, "1 to 10000 keys");
  const std::vector<std::string> all =
      store_of(in).keys(prefix, text(3), static_cast<std::size_t>(limit), clock::now());
  governor::of(in).spend(in, 10 * all.size() + 1);
  lua_createtable(in, static_cast<int>(all.size()), 0);
  lua_Integer i = 0;
  for (const std::string& each : all) {
    lua_pushlstring(in, each.data(), each.size());
    lua_rawseti(in, -2, ++i);
  }
  return 1;
}

// store.count(): returns the number of entries and of their bytes.
int count(program&, lua_State* in) {
  const store_statistics now = store_of(in).statistics();
  lua_pushinteger(in, static_cast<lua_Integer>(now.entries));
  lua_pushinteger(in, static_cast<lua_Integer>(now.bytes));
  return 2;
}

void set_store(lua_State* in, program& whose, shared_store& which, const char* name) {
  constexpr api_function functions[] = {{"get", api<get>},
                                        {"set", api<set>},
                                        {"add", api<add>},
                                        {"compare_and_set", api<compare_and_set>},
                                        {"increment", api<increment>},
                                        {"delete", api<remove>},
                                        {"expire", api<expire>},
                                        {"keys", api<keys>},
                                        {"count", api<count>}};
  lua_newtable(in);
  for (const api_function& each : functions) {
    lua_pushlightuserdata(in, &whose);
    lua_pushlightuserdata(in, &which);
    lua_pushcclosure(in, each.function, 2);
    lua_setfield(in, -2, each.name);
  }
  lua_setfield(in, -2, name);
}

}  // namespace

void open_store(lua_State* in, program& whose) {
  instance_memberships& shared = whose.around().shared();
  set_store(in, whose, shared.store(), "store");
  set_store(in, whose, shared.all().store(), "shared_store");
}

}  // namespace troupe::lua::detail
