// SPDX-License-Identifier: Apache-2.0

#include <lua.hpp>
#include <optional>
#include <string>
#include <utility>

#include "api_arguments.hpp"
#include "program.hpp"
#include "sharing.hpp"

namespace troupe::lua::detail {
namespace {

constexpr const char* queue_type = "troupe.queue";

shared_queues& all_queues(program& whose) { return whose.around().shared().all().queues(); }

shared_queues::id check_queue(lua_State* in) {
  return *static_cast<shared_queues::id*>(luaL_checkudata(in, 1, queue_type));
}

// troupe.queue(name [, {capacity = …}])
int queue(program& whose, lua_State* in) {
  const std::string_view name = check_name(in, 1);
  lua_settop(in, 2);
  std::optional<std::size_t> capacity;
  if (check_options(in, 2, {"capacity"}) && lua_getfield(in, 2, "capacity") != LUA_TNIL) {
    int is_whole = 0;
    const lua_Integer given = lua_tointegerx(in, -1, &is_whole);
    luaL_argcheck(in,
                  is_whole != 0 && given >= 1 &&
                      given <= static_cast<lua_Integer>(shared_queues::capacity_max),
                  2, "capacity must be a whole number from 1 to 1000000");
    capacity = static_cast<std::size_t>(given);
  }
  auto* const made =
      static_cast<shared_queues::id*>(lua_newuserdatauv(in, sizeof(shared_queues::id), 0));
  *made = 0;
  luaL_setmetatable(in, queue_type);
  const shared_queues::opened got =
      all_queues(whose).open(name, capacity, whose.around().application());
  if (got.what == shared_queues::opened::outcome::too_many) {
    return push_why(in, "too many queues");
  }
  if (got.what == shared_queues::opened::outcome::another_capacity) {
    return luaL_error(in, "the queue has a capacity of %s already, not %s",
                      std::to_string(got.capacity).c_str(), std::to_string(*capacity).c_str());
  }
  *made = got.id;
  return 1;
}

// queue:push(value): returns true; or nil and "full" or "closed".
int push(program& whose, lua_State* in) {
  const shared_queues::id to = check_queue(in);
  check_value(in, 2);
  std::string item;
  encode(in, 2, encoding::cbor, item);
  const shared_queues::pushed did =
      all_queues(whose).push(to, std::move(item), whose.around().application());
  if (did != shared_queues::pushed::done) {
    return push_why(in, did == shared_queues::pushed::full ? "full" : "closed");
  }
  lua_pushboolean(in, 1);
  return 1;
}

// queue:pop([timeout]): returns an item; or nil and "timeout" or "closed".
int pop(program& whose, lua_State* in) {
  const shared_queues::id from = check_queue(in);
  std::optional<duration> timeout;
  if (!lua_isnoneornil(in, 2)) timeout = check_seconds(in, 2);
  {
    item_on_its_way item(all_queues(whose), from, all_queues(whose).take_unpromised(from));
    if (item.what() != shared_queues::taken::outcome::none || timeout == duration::zero()) {
      return item.push(in);
    }
  }
  const std::uint64_t wait = whose.its_tasks().announce_wait(in);
  if (!whose.its_sharing().wait_for(from, wait)) return push_why(in, "closed");
  if (timeout) whose.its_sharing().ends_by(wait, whose.around().wake_after(wait, *timeout));
  return tasks::wait(in);
}

// queue:try_pop(): returns an item; or nil and "empty" or "closed".
int try_pop(program& whose, lua_State* in) {
  const shared_queues::id from = check_queue(in);
  item_on_its_way item(all_queues(whose), from, all_queues(whose).take(from));
  if (item.what() == shared_queues::taken::outcome::none) return push_why(in, "empty");
  return item.push(in);
}

// queue:count(): returns the number of items.
int count(program& whose, lua_State* in) {
  lua_pushinteger(in, static_cast<lua_Integer>(all_queues(whose).count(check_queue(in))));
  return 1;
}

// queue:close(): returns whether the queue was open.
int close(program& whose, lua_State* in) {
  lua_pushboolean(in, all_queues(whose).close(check_queue(in)));
  return 1;
}

}  // namespace

void open_queues(lua_State* in, program& whose) {
  constexpr api_function functions[] = {{"queue", api<queue>}};
  set_functions(in, whose, functions);

  luaL_newmetatable(in, queue_type);
  lua_newtable(in);
  constexpr api_function methods[] = {{"push", api<push>},
                                      {"pop", api<pop>},
                                      {"try_pop", api<try_pop>},
                                      {"count", api<count>},
                                      {"close", api<close>}};
  set_functions(in, whose, methods);
  lua_setfield(in, -2, "__index");
  lock(in, "a queue");
  lua_pop(in, 1);
}

}  // namespace troupe::lua::detail
