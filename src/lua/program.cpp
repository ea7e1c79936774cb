// SPDX-License-Identifier: Apache-2.0

#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "value_codec.hpp"

namespace troupe::lua::detail {
namespace {

constexpr std::array<std::string_view, handlers> names = {"on_start", "on_open",    "on_message",
                                                          "on_close", "on_stop",    "run",
                                                          "on_save",  "on_upgrade", "self_test"};

bounds bounds_of(const limits& allowed) noexcept {
  return {.memory_soft = allowed.memory_warning_bytes,
          .memory_hard = allowed.memory_bytes,
          .run_timeout = allowed.run_timeout};
}

// Adds a traceback to the error on top of the stack.
int with_traceback(lua_State* in) {
  if (governor::of(in).killed()) return 1;
  luaL_traceback(in, in, luaL_tolstring(in, 1, nullptr), 1);
  return 1;
}

}  // namespace

std::string_view to_string(handler which) noexcept {
  return names[static_cast<std::size_t>(which)];
}

program::program(program_host& around, std::shared_ptr<const application_version> made_of,
                 tasks::observer& told)
    : around_(around),
      version_(std::move(made_of)),
      connections_(tasks_, state_, version_->limits.connections),
      state_(bounds_of(version_->limits)),
      tasks_(state_, version_->limits.waiting, told,
             std::uint64_t{version_->number} << program_shift),
      sharing_(around.shared(), tasks_, state_.main(), version_->limits.subscriptions,
               version_->limits.mailbox_messages),
      last_timer_(std::uint64_t{version_->number} << program_shift | 1) {
  functions_.fill(LUA_NOREF);
  load();
}

program::~program() {
  connections_.end_all(1001, "the application's instance has stopped");
  for (auto& [id, each] : timers_) each.its.cancel();
}

// ── Loading ───────────────────────────────────────────────────────────────────────────────────

void program::load() {
  lua_State* const lua = state_.main();
  const script_text& main = scripts().main();

  const auto run = [](lua_State* in) {
    program& self = *static_cast<program*>(lua_touserdata(in, 1));
    lua_newtable(in);
    lua_newtable(in);
    self.clients_ = luaL_ref(in, LUA_REGISTRYINDEX);
    open_application(in, self, self.version_->config);
    open_clients(in, self);
    open_timers(in, self);
    open_others(in, self);
    open_topics(in, self);
    open_queues(in, self);
    open_store(in, self);
    open_metrics(in, self);
    open_outgoing(in, self);
    open_crypto(in, self);
    lua_setglobal(in, "troupe");
    const script_text& its = self.scripts().main();
    const std::string name = "@" + its.name;
    if (luaL_loadbufferx(in, its.text.data(), its.text.size(), name.c_str(), "t") != LUA_OK) {
      return lua_error(in);
    }
    lua_call(in, 0, 1);
    self.take_functions(in);
    return 0;
  };

  lua_pushcfunction(lua, with_traceback);
  lua_pushcfunction(lua, run);
  lua_pushlightuserdata(lua, this);
  state_.governor().begin(clock::now());
  const int status = lua_pcall(lua, 1, 0, 1);
  const governor::verdict verdict = state_.governor().end();
  if (verdict != governor::verdict::none) {
    throw application_error(main.name + " " + reason(verdict, state_.governor().allowed()));
  }
  if (status != LUA_OK) {
    const char* const text = lua_tostring(lua, -1);
    throw application_error(text != nullptr ? text : main.name + " has failed");
  }
  lua_settop(lua, 0);
}

// The return value of main.lua is on top of the stack.
void program::take_functions(lua_State* in) {
  if (!lua_istable(in, -1)) {
    luaL_error(in,
               "main.lua must return a table with functions such as on_message, but returned %s",
               luaL_typename(in, -1));
  }
  for (std::size_t i = 0; i < handlers; ++i) {
    lua_getfield(in, -1, names[i].data());
    if (lua_isnil(in, -1)) {
      lua_pop(in, 1);
      continue;
    }
    if (!lua_isfunction(in, -1)) {
      luaL_error(in, "%s must be a function; it is %s", names[i].data(), luaL_typename(in, -1));
    }
    functions_[i] = luaL_ref(in, LUA_REGISTRYINDEX);
  }
  calls_ = take_table(in, "calls");
  rpc_ = take_table(in, "rpc");
  if (has(handler::run)) {
    kind_ = application_kind::standalone;
    for (const handler each : {handler::open, handler::message, handler::close}) {
      if (has(each)) {
        luaL_error(in, "an application must not have both %s and run: with run it has no clients",
                   to_string(each).data());
      }
    }
    if (rpc_ != LUA_NOREF)
      luaL_error(in, "an application must not have both rpc and run: with run it has no clients");
  } else if (rpc_ != LUA_NOREF) {
    kind_ = application_kind::rpc;
    if (has(handler::message))
      luaL_error(in, "an application must not have both rpc and on_message");
  } else if (!has(handler::message) && calls_ == LUA_NOREF) {
    luaL_error(in, "main.lua must return on_message, rpc, run or calls, but returned none of them");
  }
}

// Keeps a member of the table that main.lua has returned, which is on top of the stack.
int program::take_table(lua_State* in, const char* name) {
  if (lua_getfield(in, -1, name) == LUA_TNIL) {
    lua_pop(in, 1);
    return LUA_NOREF;
  }
  if (!lua_istable(in, -1))
    luaL_error(in, "%s must be a table of functions; it is %s", name, luaL_typename(in, -1));
  return luaL_ref(in, LUA_REGISTRYINDEX);
}

// ── Events ────────────────────────────────────────────────────────────────────────────────────

tasks::outcome program::call(handler which, pushing arguments, std::unique_ptr<ending> then) {
  const int function = functions_[index(which)];
  if (function == LUA_NOREF) return tasks::outcome::done;
  const auto push = [&](lua_State* in) {
    lua_rawgeti(in, LUA_REGISTRYINDEX, function);
    return arguments(in);
  };
  return tasks_.start(push, std::move(then));
}

tasks::outcome program::call_method(std::string_view method, pushing arguments,
                                    std::unique_ptr<ending> then) {
  const auto push = [&](lua_State* in) {
    return push_function(in, calls_, method) ? arguments(in) : tasks::nothing;
  };
  return tasks_.start(push, std::move(then));
}

bool program::push_rpc(lua_State* to, std::string_view method) {
  return push_function(to, rpc_, method);
}

// The name comes from outside, so metamethods are not consulted.
bool program::push_function(lua_State* to, int table, std::string_view name) {
  if (table == LUA_NOREF) return false;
  lua_rawgeti(to, LUA_REGISTRYINDEX, table);
  lua_pushlstring(to, name.data(), name.size());
  const bool is_there = lua_rawget(to, -2) == LUA_TFUNCTION;
  lua_remove(to, -2);
  if (!is_there) lua_pop(to, 1);
  return is_there;
}

void program::due(std::uint64_t what) {
  if (connections_.timed_out(what) || sharing_.due(what)) return;
  if (tasks_.is_waited_for(what)) {
    tasks_.resume(what, [](lua_State*) { return 0; });
    return;
  }
  const auto found = timers_.find(what);
  if (found == timers_.end()) return;
  armed& its = found->second;
  const int function = its.function;
  if (its.period > duration::zero()) {
    // Armed again only when it has fired, so that a timer that is too fast for the scripts does not
    // pile up.
    its.its = around_.wake_after(what, its.period);
    run_timer(function);
    return;
  }
  timers_.erase(found);
  run_timer(function);
  luaL_unref(state_.main(), LUA_REGISTRYINDEX, function);
}

void program::run_timer(int function) {
  const auto push = [&](lua_State* in) {
    lua_rawgeti(in, LUA_REGISTRYINDEX, function);
    return 0;
  };
  tasks_.start(push, std::make_unique<no_ending>());
}

void program::answered(std::uint64_t what, bool ok, const std::string& value) {
  const auto push = [&](lua_State* in) {
    std::optional<std::string> wrong;
    if (ok) wrong = push_decoded(in, value, encoding::cbor);
    if (ok && !wrong) return 1;
    lua_settop(in, 0);
    lua_pushnil(in);
    const std::string& why = ok ? *wrong : value;
    lua_pushlstring(in, why.data(), why.size());
    return 2;
  };
  tasks_.resume(what, push);
}

void program::forget(std::uint64_t client) {
  lua_State* const lua = state_.main();
  lua_rawgeti(lua, LUA_REGISTRYINDEX, clients_);
  // If the entry exists, assigning nil allocates nothing, so it cannot fail.
  if (lua_rawgeti(lua, -1, static_cast<lua_Integer>(client)) != LUA_TNIL) {
    lua_pushnil(lua);
    lua_rawseti(lua, -3, static_cast<lua_Integer>(client));
  }
  lua_pop(lua, 2);
}

void program::tidy() {
  if (!state_.governor().collect(state_.main())) return;
  around_.log(severity::warning,
              "uses " + std::to_string(state_.governor().memory()) + " bytes of memory; above " +
                  std::to_string(version_->limits.memory_bytes) + " its messages fail");
}

void program::wind_up(const std::string& why) {
  connections_.end_all(1001, why);
  for (auto& [id, each] : timers_) each.its.cancel();
  timers_.clear();
  sharing_.wind_up();
  tasks_.drop_all(why);
}

// ── Upgrades ──────────────────────────────────────────────────────────────────────────────────

namespace {

// The saved data is bounded by the limits of the application.
codec_limits limits_of_upgrades(const limits& allowed) noexcept {
  return {.bytes = allowed.memory_bytes, .elements = allowed.memory_bytes / 16};
}

/// The ending of a function that does not wait.
class at_once final : public ending {
 public:
  at_once(std::string& why_not, std::string* result, const codec_limits& allowed) noexcept
      : why_not_(why_not), result_(result), allowed_(allowed) {}
  void returned(lua_State* in, int first) override {
    if (result_ != nullptr) encode(in, first, encoding::cbor, *result_, allowed_);
  }
  void failed(const failure& why) noexcept override {
    why_not_ = why.text.empty() ? "an error without a message" : why.text;
  }

 private:
  std::string& why_not_;
  std::string* const result_;
  const codec_limits allowed_;
};

}  // namespace

std::string program::save(std::string& to) {
  const auto push = [&](lua_State* in) {
    lua_pushlightuserdata(in, this);
    lua_pushcclosure(in, save_all, 1);
    return 0;
  };
  std::string why_not;
  tasks_.start(push, std::make_unique<at_once>(why_not, &to, limits_of_upgrades(version_->limits)));
  return why_not;
}

// Returns {saved = result of on_save, clients = {id, data, id, data, …}}.
int program::save_all(lua_State* in) {
  program& self = of(in);
  lua_createtable(in, 0, 2);
  if (self.has(handler::save)) {
    lua_rawgeti(in, LUA_REGISTRYINDEX, self.functions_[index(handler::save)]);
    lua_call(in, 0, 1);
    lua_setfield(in, 1, "saved");
  }
  lua_newtable(in);
  mark_as_array(in, 2);
  lua_rawgeti(in, LUA_REGISTRYINDEX, self.clients_);
  lua_Integer count = 0;
  for (lua_pushnil(in); lua_next(in, 3) != 0; lua_settop(in, 4)) {
    governor::of(in).spend(in, 1);
    if (lua_getiuservalue(in, 5, 1) != LUA_TTABLE) continue;
    lua_pushvalue(in, 4);
    lua_rawseti(in, 2, ++count);
    lua_rawseti(in, 2, ++count);
  }
  lua_settop(in, 2);
  lua_setfield(in, 1, "clients");
  return 1;
}

std::string program::take_over(const std::string& saved) {
  const auto push = [&](lua_State* in) {
    lua_pushlightuserdata(in, this);
    lua_pushcclosure(in, restore_all, 1);
    if (const auto wrong =
            push_decoded(in, saved, encoding::cbor, limits_of_upgrades(version_->limits))) {
      luaL_error(in, "the saved value cannot be restored: %s", wrong->c_str());
    }
    return 1;
  };
  std::string why_not;
  tasks_.start(push, std::make_unique<at_once>(why_not, nullptr, codec_limits{}));
  return why_not;
}

int program::restore_all(lua_State* in) {
  program& self = of(in);
  lua_getfield(in, 1, "clients");
  const auto count = static_cast<lua_Integer>(lua_rawlen(in, 2));
  for (lua_Integer i = 1; i < count; i += 2, lua_settop(in, 2)) {
    governor::of(in).spend(in, 1);
    lua_rawgeti(in, 2, i);
    self.push_client(in, static_cast<std::uint64_t>(lua_tointeger(in, 3)));
    lua_rawgeti(in, 2, i + 1);
    lua_setiuservalue(in, 4, 1);
  }
  if (!self.has(handler::upgrade)) return 0;
  lua_rawgeti(in, LUA_REGISTRYINDEX, self.functions_[index(handler::upgrade)]);
  lua_getfield(in, 1, "saved");
  lua_call(in, 1, 0);
  return 0;
}

void program::retire() {
  connections_.close_all(1001, "the application has been upgraded");
  sharing_.unsubscribe_all();
  for (auto& [id, each] : timers_) each.its.cancel();
  timers_.clear();
  tasks_.drop_if([](const ending& of) { return of.ends_with_its_version(); },
                 "the application has been upgraded");
}

// ── For functions that scripts call ───────────────────────────────────────────────────────────

std::uint64_t program::arm(lua_State* in, duration after, bool again) {
  if (timers_.size() >= version_->limits.timers) {
    luaL_error(in, "%d timers are armed already, which is the limit",
               static_cast<int>(version_->limits.timers));
  }
  const int function = luaL_ref(in, LUA_REGISTRYINDEX);
  // Odd numbers are timers and even ones are waits, so that one number identifies either.
  const std::uint64_t id = last_timer_ += 2;
  timers_.emplace(id,
                  armed{function, again ? after : duration::zero(), around_.wake_after(id, after)});
  return id;
}

bool program::disarm(std::uint64_t which) {
  const auto found = timers_.find(which);
  if (found == timers_.end()) return false;
  found->second.its.cancel();
  luaL_unref(state_.main(), LUA_REGISTRYINDEX, found->second.function);
  timers_.erase(found);
  return true;
}

duration check_seconds(lua_State* in, int argument) {
  const lua_Number seconds = luaL_checknumber(in, argument);
  luaL_argcheck(in, seconds >= 0 && seconds <= 365.0 * 86'400, argument,
                "seconds, from 0 to one year");
  return std::chrono::duration_cast<duration>(std::chrono::duration<lua_Number>(seconds));
}

}  // namespace troupe::lua::detail
