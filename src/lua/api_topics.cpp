// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <lua.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "api_arguments.hpp"
#include "program.hpp"
#include "rpc.hpp"
#include "sharing.hpp"

namespace troupe::lua::detail {
namespace {

constexpr const char* topic_type = "troupe.topic";
constexpr const char* subscription_type = "troupe.subscription";

// The cost of sending to one client, in steps.
constexpr std::size_t steps_each = 100;
// The cost of a presence change, of which all instances may be notified.
constexpr std::size_t steps_of_a_change = 1'000;

// ── Values ────────────────────────────────────────────────────────────────────────────────────

// Created before the subscription that it will hold, so that an allocation cannot fail afterwards.
std::uint64_t& push_subscription(lua_State* in) {
  auto* const made = static_cast<std::uint64_t*>(lua_newuserdatauv(in, sizeof(std::uint64_t), 0));
  *made = 0;
  luaL_setmetatable(in, subscription_type);
  return *made;
}

int push_subscribed(lua_State* in, std::uint64_t& made, std::optional<std::uint64_t> id) {
  if (!id) return push_why(in, "too many topics");
  made = *id;
  return 1;
}

// troupe.subscribe(topic, f): returns a subscription; or nil and the reason.
int subscribe(program& whose, lua_State* in) {
  const std::string topic(check_name(in, 1));
  luaL_checktype(in, 2, LUA_TFUNCTION);
  lua_settop(in, 2);
  std::uint64_t& made = push_subscription(in);
  lua_insert(in, 2);
  return push_subscribed(in, made, whose.its_sharing().subscribe(in, topic));
}

// troupe.publish(topic, value): returns the number of instances that it reached.
int publish(program& whose, lua_State* in) {
  const std::string_view topic = check_name(in, 1);
  check_value(in, 2);
  std::string value;
  encode(in, 2, encoding::cbor, value);
  const std::size_t reached = whose.around().shared().publish(topic, std::move(value));
  governor::of(in).spend(in, steps_each * (reached + 1));
  lua_pushinteger(in, static_cast<lua_Integer>(reached));
  return 1;
}

// subscription:cancel(): returns whether it was active.
int cancel(program& whose, lua_State* in) {
  const auto* const which = static_cast<std::uint64_t*>(luaL_checkudata(in, 1, subscription_type));
  lua_pushboolean(in, whose.its_sharing().cancel(*which));
  return 1;
}

// ── Clients of all instances ──────────────────────────────────────────────────────────────────
// A topic is a userdata with its name as its user value.

std::string_view check_topic(lua_State* in) {
  luaL_checkudata(in, 1, topic_type);
  lua_getiuservalue(in, 1, 1);
  const std::string_view name = check_string(in, -1);
  lua_pop(in, 1);  // the topic keeps it
  return name;
}

topic_members& all_crowds(program& whose) { return whose.around().shared().all().topic_members(); }
std::string crowd_of(program& whose, lua_State* in) {
  return whose.around().shared().crowd(check_topic(in));
}

// troupe.topic(name)
int topic(program&, lua_State* in) {
  check_name(in, 1);
  lua_settop(in, 1);
  lua_newuserdatauv(in, 0, 1);
  lua_insert(in, 1);
  lua_setiuservalue(in, 1, 1);
  luaL_setmetatable(in, topic_type);
  return 1;
}

// Pushes whether the place was new; or nil and the limit that was reached.
int push_place(lua_State* in, instance_memberships::outcome what) {
  if (what == instance_memberships::outcome::full) return push_why(in, "full");
  if (what == instance_memberships::outcome::too_many) {
    return luaL_error(in, "the client is in %d topics already, which is the limit",
                      static_cast<int>(instance_memberships::topics_max));
  }
  lua_pushboolean(in, what == instance_memberships::outcome::done);
  return 1;
}

const client& check_here(program& whose, lua_State* in, int argument) {
  const client* const found = whose.around().find(check_client(in, argument));
  if (found == nullptr) luaL_error(in, "the client is disconnected");
  return *found;
}

// topic:join(client)
int join(program& whose, lua_State* in) {
  const std::string_view name = check_topic(in);
  return push_place(in, whose.around().shared().join(name, check_here(whose, in, 2)));
}

// topic:leave(client): returns whether the client was a follower.
int leave(program& whose, lua_State* in) {
  const std::string_view name = check_topic(in);
  lua_pushboolean(in, whose.around().shared().leave(name, check_client(in, 2)));
  return 1;
}

int has(program& whose, lua_State* in) {
  const std::string name = crowd_of(whose, in);
  lua_pushboolean(in, all_crowds(whose).has(name, check_client(in, 2)));
  return 1;
}

int count(program& whose, lua_State* in) {
  const std::size_t n = all_crowds(whose).count(crowd_of(whose, in));
  lua_pushinteger(in, static_cast<lua_Integer>(n));
  return 1;
}

// Calls send(follower) for each follower except one. Pushes the number of followers that accepted
// it.
template <class Send>
int to_all(program& whose, lua_State* in, std::uint64_t except, Send send) {
  lua_Integer reached = 0;
  if (const topic_members::followers all = all_crowds(whose).all(crowd_of(whose, in))) {
    for (const follower& each : *all) {
      if (each.client == except || send(each) != delivery::accepted) continue;
      whose.around().sent_one();
      ++reached;
    }
    governor::of(in).spend(in, steps_each * all->size());
  }
  lua_pushinteger(in, reached);
  return 1;
}

int broadcast(program& whose, lua_State* in, bool as_text) {
  (void)check_topic(in);
  const std::string_view data = check_string(in, 2);
  if (as_text) check_text(in, 2, data);
  const std::uint64_t except = lua_isnoneornil(in, 3) ? 0 : check_client(in, 3);
  const auto shared = std::make_shared<const std::string>(data);
  return to_all(whose, in, except, [&](const follower& to) {
    if (to.rpc) {
      luaL_error(in,
                 "the topic's clients use the rpc protocol: use topic:notify(method, params) "
                 "instead");
    }
    return as_text ? to.socket.send(shared) : to.socket.send_binary(shared);
  });
}

// topic:send(text [, except]), topic:send_binary(data [, except])
int topic_send(program& whose, lua_State* in) { return broadcast(whose, in, true); }
int topic_send_binary(program& whose, lua_State* in) { return broadcast(whose, in, false); }

// topic:notify(method [, params [, except]]): encodes once for each encoding that a follower uses.
int topic_notify(program& whose, lua_State* in) {
  (void)check_topic(in);
  const std::string_view method = check_method(in, 2);
  const std::uint64_t except = lua_isnoneornil(in, 4) ? 0 : check_client(in, 4);
  lua_settop(in, 3);
  std::array<std::shared_ptr<const std::string>, 2> encoded;
  return to_all(whose, in, except, [&](const follower& to) {
    if (!to.rpc) {
      luaL_error(in,
                 "the topic's clients do not use the rpc protocol: use topic:send(text) "
                 "instead");
    }
    auto& message = encoded[static_cast<std::size_t>(*to.rpc)];
    if (!message) {
      std::string written;
      write_notification(in, lua_isnil(in, 3) ? 0 : 3, *to.rpc, method, 0, written);
      message = std::make_shared<const std::string>(std::move(written));
    }
    return is_text(*to.rpc) ? to.socket.send(message) : to.socket.send_binary(message);
  });
}

// ── Presence ──────────────────────────────────────────────────────────────────────────────────

// topic:track(client [, meta])
int track(program& whose, lua_State* in) {
  const std::string_view name = check_topic(in);
  const std::uint64_t who = check_here(whose, in, 2).id;
  lua_settop(in, 3);
  std::string meta;
  encode(in, 3, encoding::cbor, meta, {.bytes = instance_memberships::meta_bytes_max});
  governor::of(in).spend(in, steps_of_a_change);
  return push_place(in, whose.around().shared().track(name, who, std::move(meta)));
}

// topic:untrack(client): returns whether the client was present.
int untrack(program& whose, lua_State* in) {
  const std::string_view name = check_topic(in);
  governor::of(in).spend(in, steps_of_a_change);
  lua_pushboolean(in, whose.around().shared().untrack(name, check_client(in, 2)));
  return 1;
}

// topic:list(): returns {id = …, instance = …, meta = …} for each present client.
int list(program& whose, lua_State* in) {
  const topic_members::attendees all = all_crowds(whose).present(crowd_of(whose, in));
  governor::of(in).spend(in, all.size() + 1);
  lua_newtable(in);
  lua_Integer i = 0;
  for (const auto& each : all) {
    push_attendee(in, *each);
    lua_rawseti(in, -2, ++i);
  }
  return 1;
}

// topic:on_join(f), topic:on_update(f), topic:on_leave(f): return a subscription.
template <presence_change What>
int on_change(program& whose, lua_State* in) {
  const std::string name(check_topic(in));
  luaL_checktype(in, 2, LUA_TFUNCTION);
  lua_settop(in, 2);
  std::uint64_t& made = push_subscription(in);
  lua_insert(in, 2);
  return push_subscribed(in, made, whose.its_sharing().watch(in, name, What));
}

int topic_tostring(program&, lua_State* in) {
  const std::string text = "topic " + std::string(check_topic(in));
  lua_pushlstring(in, text.data(), text.size());
  return 1;
}

}  // namespace

void open_topics(lua_State* in, program& whose) {
  constexpr api_function functions[] = {
      {"subscribe", api<subscribe>}, {"publish", api<publish>}, {"topic", api<topic>}};
  set_functions(in, whose, functions);

  luaL_newmetatable(in, topic_type);
  lua_newtable(in);
  constexpr api_function methods[] = {{"join", api<join>},
                                      {"leave", api<leave>},
                                      {"has", api<has>},
                                      {"count", api<count>},
                                      {"send", api<topic_send>},
                                      {"send_binary", api<topic_send_binary>},
                                      {"notify", api<topic_notify>},
                                      {"track", api<track>},
                                      {"untrack", api<untrack>},
                                      {"list", api<list>},
                                      {"on_join", api<on_change<presence_change::joined>>},
                                      {"on_update", api<on_change<presence_change::updated>>},
                                      {"on_leave", api<on_change<presence_change::left>>}};
  set_functions(in, whose, methods);
  lua_setfield(in, -2, "__index");
  constexpr api_function shown[] = {{"__tostring", api<topic_tostring>}};
  set_functions(in, whose, shown);
  lock(in, "a topic");
  lua_pop(in, 1);

  luaL_newmetatable(in, subscription_type);
  lua_newtable(in);
  constexpr api_function of_subscriptions[] = {{"cancel", api<cancel>}};
  set_functions(in, whose, of_subscriptions);
  lua_setfield(in, -2, "__index");
  lock(in, "a subscription");
  lua_pop(in, 1);
}

}  // namespace troupe::lua::detail
