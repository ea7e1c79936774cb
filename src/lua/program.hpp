// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <troupe/lua/application.hpp>
#include <troupe/troupe.hpp>

#include "connections.hpp"
#include "sharing.hpp"
#include "state.hpp"
#include "surroundings.hpp"
#include "tasks.hpp"
#include "version.hpp"

namespace troupe::lua::detail {

/// What main.lua may return functions for.
enum class handler : std::uint8_t { start, open, message, close, stop, run, save, upgrade, test };
inline constexpr std::size_t handlers = 9;
[[nodiscard]] std::string_view to_string(handler which) noexcept;

/// The scripts of an application, loaded into a Lua state of their own, and what they have begun: handlers that
/// wait, timers.
///
/// Threads: the instance's turns.
class program {
 public:
  /// Runs main.lua. Errors: application_error.
  program(surroundings& around, std::shared_ptr<const application_version> made_of,
          tasks::observer& told);
  ~program();

  [[nodiscard]] const std::shared_ptr<const application_version>& its_version() const noexcept {
    return version_;
  }
  /// Whether it is what waits for that, or has armed it.
  [[nodiscard]] bool is_for(std::uint64_t what) const noexcept {
    return what >> program_shift == version_->number;
  }
  [[nodiscard]] application_kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool has(handler which) const noexcept {
    return functions_[index(which)] != LUA_NOREF;
  }

  /// Calls it, if main.lua has returned one; else nothing is done, and `then` is destroyed.
  tasks::outcome call(handler which, pushing arguments, std::unique_ptr<ending> then);

  /// Calls the one of `calls` that has that name.
  tasks::outcome call_method(std::string_view method, pushing arguments,
                             std::unique_ptr<ending> then);

  /// Pushes the one of `rpc` that has that name. False, and nothing is pushed: there is none.
  [[nodiscard]] bool push_rpc(lua_State* to, std::string_view method);

  // ── What has come ───────────────────────────────────────────────────────────────────────────
  void due(std::uint64_t what);
  /// An answer in CBOR, or why there is none.
  void answered(std::uint64_t what, bool ok, const std::string& value);
  [[nodiscard]] sharing& its_sharing() noexcept { return sharing_; }
  /// What the scripts keep for it is free.
  void forget(std::uint64_t client);
  /// Between two messages: collects garbage where there is much.
  void tidy();

  /// Ends all timers, and fails all handlers that wait.
  void wind_up(const std::string& why);

  // ── Upgrades ────────────────────────────────────────────────────────────────────────────────
  // These two return why it has failed; empty: it has not. What they call cannot wait.
  /// Calls on_save, and writes what it returns, and client.data of each client, as CBOR.
  [[nodiscard]] std::string save(std::string& to);
  /// Takes over what another one has saved, and calls on_upgrade.
  [[nodiscard]] std::string take_over(const std::string& saved);
  /// Another one has taken over: ends its timers, its subscriptions and `run`. Other handlers that wait may end.
  void retire();

  // ── For functions that scripts call ─────────────────────────────────────────────────────────
  [[nodiscard]] static program& of(lua_State* in) noexcept {
    return *static_cast<program*>(lua_touserdata(in, lua_upvalueindex(1)));
  }
  [[nodiscard]] surroundings& around() noexcept { return around_; }
  [[nodiscard]] tasks& its_tasks() noexcept { return tasks_; }
  [[nodiscard]] connections& its_connections() noexcept { return connections_; }
  [[nodiscard]] state& its_state() noexcept { return state_; }
  [[nodiscard]] const script_version& scripts() const noexcept { return version_->scripts; }
  [[nodiscard]] const limits& allowed() const noexcept { return version_->limits; }

  /// Pushes the one object that stands for it.
  void push_client(lua_State* to, std::uint64_t id);

  /// Calls the function on top of the stack, which it pops, after that time, and then each time again if
  /// `again`. Raises an error if there are too many.
  std::uint64_t arm(lua_State* in, duration after, bool again);
  bool disarm(std::uint64_t which);

 private:
  // What names a wait or a timer begins with the number of the version: in one instance two may be at work.
  static constexpr unsigned program_shift = 44;

  struct armed {
    int function = LUA_NOREF;
    duration period{};  // 0: once
    timer its;
  };

  static std::size_t index(handler which) noexcept { return static_cast<std::size_t>(which); }
  void load();
  void take_functions(lua_State* in);
  void run_timer(int function);
  static int save_all(lua_State* in);
  static int restore_all(lua_State* in);
  int take_table(lua_State* in, const char* name);
  static bool push_function(lua_State* to, int table, std::string_view name);

  surroundings& around_;
  const std::shared_ptr<const application_version> version_;
  connections connections_;  // what Lua collects at its end looks for itself there
  state state_;
  tasks tasks_;
  sharing sharing_;
  application_kind kind_ = application_kind::raw;
  std::array<int, handlers> functions_{};
  int rpc_ = LUA_NOREF;
  int calls_ = LUA_NOREF;
  int clients_ = LUA_NOREF;  // by their ids; forget() takes them out
  std::uint64_t last_timer_;
  std::unordered_map<std::uint64_t, armed> timers_;
};

/// What scripts see, for the table `troupe` on top of the stack.
void open_application(lua_State* in, program& whose,
                      const std::string& config);   // names, log, codecs, require
void open_clients(lua_State* in, program& whose);   // clients and rooms
void open_timers(lua_State* in, program& whose);    // sleep, after, every
void open_others(lua_State* in, program& whose);    // ask, send
void open_topics(lua_State* in, program& whose);    // subscribe, publish, topics
void open_queues(lua_State* in, program& whose);    // queues
void open_store(lua_State* in, program& whose);     // store, shared_store
void open_metrics(lua_State* in, program& whose);   // metrics
void open_outgoing(lua_State* in, program& whose);  // http, websocket
void open_crypto(lua_State* in, program& whose);    // crypto

/// A function that scripts call, out of one that may throw.
template <int (*F)(program&, lua_State*)>
int api(lua_State* in) {
  try {
    return F(program::of(in), in);
  } catch (const std::exception& e) {
    luaL_where(in, 1);
    lua_pushstring(in, e.what());
    lua_concat(in, 2);
  }
  return lua_error(in);
}

/// Sets functions of the table on top, each with the program as its first upvalue.
struct api_function {
  const char* name;
  lua_CFunction function;
};
template <std::size_t N>
void set_functions(lua_State* in, program& whose, const api_function (&all)[N]) {
  for (const api_function& each : all) {
    lua_pushlightuserdata(in, &whose);
    lua_pushcclosure(in, each.function, 1);
    lua_setfield(in, -2, each.name);
  }
}

/// Seconds, as scripts have them. Raises an error for what is none.
[[nodiscard]] duration check_seconds(lua_State* in, int argument);

}  // namespace troupe::lua::detail
