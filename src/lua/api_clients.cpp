// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <lua.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api_arguments.hpp"
#include "program.hpp"
#include "rooms.hpp"
#include "rpc.hpp"

namespace troupe::lua::detail {
namespace {

constexpr const char* client_type = "troupe.client";
constexpr const char* room_type = "troupe.room";

// ── Clients ───────────────────────────────────────────────────────────────────────────────────

const client& check_open(program& whose, lua_State* in) {
  const client* const found = whose.around().find(check_client(in, 1));
  if (found == nullptr) luaL_error(in, "the client is disconnected");
  return *found;
}

int push_delivery(program& whose, lua_State* in, delivery what) {
  if (what == delivery::accepted) whose.around().sent_one();
  lua_pushboolean(in, what == delivery::accepted);
  return 1;
}

// A client that uses the protocol would not understand other messages.
void check_raw(lua_State* in, const client& to) {
  if (to.rpc)
    luaL_error(in, "the client uses the rpc protocol: use client:notify(method, params) instead");
}

// client:send(text): returns false if the client is closing, or is closed now because it reads too
// slowly.
int send(program& whose, lua_State* in) {
  const std::string_view text = check_string(in, 2);
  check_text(in, 2, text);
  const client* const to = whose.around().find(check_client(in, 1));
  if (to == nullptr) return push_delivery(whose, in, delivery::refused);
  check_raw(in, *to);
  return push_delivery(whose, in, to->socket.send(std::string(text)));
}

int send_binary(program& whose, lua_State* in) {
  const std::string_view data = check_string(in, 2);
  const client* const to = whose.around().find(check_client(in, 1));
  if (to == nullptr) return push_delivery(whose, in, delivery::refused);
  check_raw(in, *to);
  return push_delivery(whose, in, to->socket.send_binary(std::string(data)));
}

std::uint8_t check_channel(lua_State* in, int argument) {
  const lua_Integer channel = luaL_optinteger(in, argument, 0);
  luaL_argcheck(in, channel >= 0 && channel <= 255, argument, "a channel from 0 to 255");
  return static_cast<std::uint8_t>(channel);
}

// client:notify(method [, params [, channel]])
int notify(program& whose, lua_State* in) {
  const std::string_view method = check_method(in, 2);
  const std::uint8_t channel = check_channel(in, 4);
  lua_settop(in, 3);
  const client* const to = whose.around().find(check_client(in, 1));
  if (to == nullptr) return push_delivery(whose, in, delivery::refused);
  if (!to->rpc)
    return luaL_error(in,
                      "the client does not use the rpc protocol: use client:send(text) instead");
  std::string message;
  write_notification(in, lua_isnil(in, 3) ? 0 : 3, to->rpc->as, method, channel, message);
  return push_delivery(whose, in,
                       is_text(to->rpc->as) ? to->socket.send(std::move(message))
                                            : to->socket.send_binary(std::move(message)));
}

// client:close([code [, reason]])
int close(program& whose, lua_State* in) {
  const lua_Integer code = luaL_optinteger(in, 2, 1000);
  luaL_argcheck(in,
                (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                    (code >= 3000 && code <= 4999),
                2, "1000 to 1003, 1007 to 1014, or 3000 to 4999");
  const std::string reason(luaL_optstring(in, 3, ""));
  check_text(in, 3, reason);
  if (const client* const to = whose.around().find(check_client(in, 1))) {
    to->socket.close(static_cast<std::uint16_t>(code), reason);
  }
  return 0;
}

int is_open(program& whose, lua_State* in) {
  lua_pushboolean(in, whose.around().find(check_client(in, 1)) != nullptr);
  return 1;
}

int push_view(lua_State* in, std::string_view what) {
  lua_pushlstring(in, what.data(), what.size());
  return 1;
}

int peer(program& whose, lua_State* in) {
  return push_view(in, check_open(whose, in).socket.peer());
}
int path(program& whose, lua_State* in) {
  return push_view(in, check_open(whose, in).socket.upgrade_request().path());
}
// client:header(name): returns "" if the header was not sent.
int header(program& whose, lua_State* in) {
  const std::string_view name = check_string(in, 2);
  return push_view(in, check_open(whose, in).socket.upgrade_request().header(name));
}
// client:parameter(name): returns a parameter of the query; nil if it is absent.
int parameter(program& whose, lua_State* in) {
  const std::string_view name = check_string(in, 2);
  const auto found = check_open(whose, in).socket.upgrade_request().parameter(name);
  if (!found) {
    lua_pushnil(in);
    return 1;
  }
  return push_view(in, *found);
}

// client.id, client.data (a table for data of the scripts), and the methods, which are the second
// upvalue.
int client_index(program&, lua_State* in) {
  const std::uint64_t id = check_client(in, 1);
  const std::string_view name = check_string(in, 2);
  if (name == "id") {
    lua_pushinteger(in, static_cast<lua_Integer>(id));
    return 1;
  }
  if (name == "data") {
    if (lua_getiuservalue(in, 1, 1) == LUA_TNIL) {
      lua_newtable(in);
      lua_pushvalue(in, -1);
      lua_setiuservalue(in, 1, 1);
    }
    return 1;
  }
  lua_pushvalue(in, 2);
  lua_rawget(in, lua_upvalueindex(2));
  return 1;
}

int client_tostring(program&, lua_State* in) {
  return push_view(in, "client " + std::to_string(check_client(in, 1)));
}

// troupe.client(id): returns nil if the client is gone.
int client_by_id(program& whose, lua_State* in) {
  const auto id = static_cast<std::uint64_t>(luaL_checkinteger(in, 1));
  if (whose.around().find(id) == nullptr) {
    lua_pushnil(in);
  } else {
    whose.push_client(in, id);
  }
  return 1;
}

// troupe.clients(): returns an array of the clients of this instance.
int clients(program& whose, lua_State* in) {
  const std::vector<std::uint64_t> all = whose.around().client_ids();
  governor::of(in).spend(in, 10 * all.size());
  lua_createtable(in, static_cast<int>(all.size()), 0);
  lua_Integer i = 0;
  for (const std::uint64_t each : all) {
    whose.push_client(in, each);
    lua_rawseti(in, -2, ++i);
  }
  return 1;
}

// ── Rooms ─────────────────────────────────────────────────────────────────────────────────────
// A room is a userdata with its name as its user value.

std::string_view check_room(lua_State* in, int argument) {
  luaL_checkudata(in, argument, room_type);
  lua_getiuservalue(in, argument, 1);
  std::size_t size = 0;
  const char* const name = lua_tolstring(in, -1, &size);
  lua_pop(in, 1);  // the room keeps it
  return {name, size};
}

// troupe.room(name)
int room(program&, lua_State* in) {
  // The members of rooms, and so the names, are kept outside of the scripts' memory.
  luaL_argcheck(in, check_string(in, 1).size() <= rooms::name_bytes_max, 1,
                "a room name has at most 256 bytes");
  lua_settop(in, 1);
  lua_newuserdatauv(in, 0, 1);
  lua_insert(in, 1);
  lua_setiuservalue(in, 1, 1);
  luaL_setmetatable(in, room_type);
  return 1;
}

// room:join(client): returns whether the client was not a member before.
int join(program& whose, lua_State* in) {
  const std::string_view name = check_room(in, 1);
  const std::uint64_t who = check_client(in, 2);
  if (whose.around().find(who) == nullptr) return luaL_error(in, "the client is disconnected");
  const rooms::joined did = whose.around().all_rooms().join(name, who);
  if (did == rooms::joined::too_many) {
    return luaL_error(in, "the client is in %d rooms already, which is the limit",
                      static_cast<int>(rooms::rooms_max));
  }
  lua_pushboolean(in, did == rooms::joined::joined);
  return 1;
}

// room:leave(client): returns whether the client was a member.
int leave(program& whose, lua_State* in) {
  const std::string_view name = check_room(in, 1);
  lua_pushboolean(in, whose.around().all_rooms().leave(name, check_client(in, 2)));
  return 1;
}

int has(program& whose, lua_State* in) {
  const std::string_view name = check_room(in, 1);
  lua_pushboolean(in, whose.around().all_rooms().has(name, check_client(in, 2)));
  return 1;
}

int count(program& whose, lua_State* in) {
  const auto* const all = whose.around().all_rooms().members(check_room(in, 1));
  lua_pushinteger(in, all == nullptr ? 0 : static_cast<lua_Integer>(all->size()));
  return 1;
}

// room:members(): returns an array of clients.
int members(program& whose, lua_State* in) {
  const auto* const all = whose.around().all_rooms().members(check_room(in, 1));
  lua_newtable(in);
  if (all == nullptr) return 1;
  lua_Integer i = 0;
  for (const std::uint64_t each : *all) {
    governor::of(in).spend(in, 10);
    whose.push_client(in, each);
    lua_rawseti(in, -2, ++i);
  }
  return 1;
}

// All receivers share one string: it is copied and encoded once. Returns the number of receivers.
int broadcast(program& whose, lua_State* in, bool as_text) {
  const std::string_view name = check_room(in, 1);
  const std::string_view data = check_string(in, 2);
  if (as_text) check_text(in, 2, data);
  const std::uint64_t except = lua_isnoneornil(in, 3) ? 0 : check_client(in, 3);
  lua_Integer reached = 0;
  if (const auto* const all = whose.around().all_rooms().members(name)) {
    const auto shared = std::make_shared<const std::string>(data);
    for (const std::uint64_t each : *all) {
      if (each == except) continue;
      const client* const to = whose.around().find(each);
      if (to == nullptr) continue;
      check_raw(in, *to);
      const delivery did = as_text ? to->socket.send(shared) : to->socket.send_binary(shared);
      if (did != delivery::accepted) continue;
      whose.around().sent_one();
      ++reached;
    }
    governor::of(in).spend(in, 100 * static_cast<std::size_t>(all->size()));
  }
  lua_pushinteger(in, reached);
  return 1;
}

// room:send(text [, except]), room:send_binary(data [, except])
int room_send(program& whose, lua_State* in) { return broadcast(whose, in, true); }
int room_send_binary(program& whose, lua_State* in) { return broadcast(whose, in, false); }

// room:notify(method [, params [, except]]): encodes once for each encoding that a member uses.
int room_notify(program& whose, lua_State* in) {
  const std::string_view name = check_room(in, 1);
  const std::string_view method = check_method(in, 2);
  const std::uint64_t except = lua_isnoneornil(in, 4) ? 0 : check_client(in, 4);
  lua_settop(in, 3);
  std::shared_ptr<const std::string> encoded[2];
  lua_Integer reached = 0;
  if (const auto* const all = whose.around().all_rooms().members(name)) {
    for (const std::uint64_t each : *all) {
      const client* const to = each == except ? nullptr : whose.around().find(each);
      if (to == nullptr || !to->rpc) continue;
      const encoding as = to->rpc->as;
      auto& message = encoded[static_cast<std::size_t>(as)];
      if (!message) {
        std::string written;
        write_notification(in, lua_isnil(in, 3) ? 0 : 3, as, method, 0, written);
        message = std::make_shared<const std::string>(std::move(written));
      }
      const delivery did = is_text(as) ? to->socket.send(message) : to->socket.send_binary(message);
      if (did != delivery::accepted) continue;
      whose.around().sent_one();
      ++reached;
    }
    governor::of(in).spend(in, 100 * all->size());
  }
  lua_pushinteger(in, reached);
  return 1;
}

}  // namespace

std::uint64_t check_client(lua_State* in, int argument) {
  return *static_cast<std::uint64_t*>(luaL_checkudata(in, argument, client_type));
}

void program::push_client(lua_State* to, std::uint64_t id) {
  lua_rawgeti(to, LUA_REGISTRYINDEX, clients_);
  if (lua_rawgeti(to, -1, static_cast<lua_Integer>(id)) == LUA_TNIL) {
    lua_pop(to, 1);
    *static_cast<std::uint64_t*>(lua_newuserdatauv(to, sizeof id, 1)) = id;
    luaL_setmetatable(to, client_type);
    // The object of a client that is gone may be created, but is not kept.
    if (around_.find(id) != nullptr) {
      lua_pushvalue(to, -1);
      lua_rawseti(to, -3, static_cast<lua_Integer>(id));
    }
  }
  lua_remove(to, -2);
}

void open_clients(lua_State* in, program& whose) {
  constexpr api_function functions[] = {
      {"room", api<room>}, {"client", api<client_by_id>}, {"clients", api<clients>}};
  set_functions(in, whose, functions);

  luaL_newmetatable(in, client_type);
  lua_pushlightuserdata(in, &whose);
  lua_newtable(in);
  constexpr api_function client_methods[] = {
      {"send", api<send>},   {"send_binary", api<send_binary>}, {"notify", api<notify>},
      {"close", api<close>}, {"is_open", api<is_open>},         {"peer", api<peer>},
      {"path", api<path>},   {"header", api<header>},           {"parameter", api<parameter>}};
  set_functions(in, whose, client_methods);
  lua_pushcclosure(in, api<client_index>, 2);
  lua_setfield(in, -2, "__index");
  constexpr api_function shown[] = {{"__tostring", api<client_tostring>}};
  set_functions(in, whose, shown);
  lock(in, "a client");
  lua_pop(in, 1);

  luaL_newmetatable(in, room_type);
  lua_newtable(in);
  constexpr api_function room_methods[] = {{"join", api<join>},
                                           {"leave", api<leave>},
                                           {"has", api<has>},
                                           {"count", api<count>},
                                           {"members", api<members>},
                                           {"send", api<room_send>},
                                           {"send_binary", api<room_send_binary>},
                                           {"notify", api<room_notify>}};
  set_functions(in, whose, room_methods);
  lua_setfield(in, -2, "__index");
  lock(in, "a room");
  lua_pop(in, 1);
}

}  // namespace troupe::lua::detail
