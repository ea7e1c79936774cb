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
#include "program_host.hpp"
#include "sharing.hpp"
#include "state.hpp"
#include "tasks.hpp"
#include "version.hpp"

namespace troupe::lua::detail {

/// The handlers that main.lua may return.
enum class handler : std::uint8_t { start, open, message, close, stop, run, save, upgrade, test };
inline constexpr std::size_t handlers = 9;
[[nodiscard]] std::string_view to_string(handler which) noexcept;

/// The scripts of an application, loaded into their own Lua state, and the work that they have
/// begun: suspended handlers and timers.
///
/// Threads: the instance's turns.
class program {
 public:
  /// Runs main.lua. Errors: application_error.
  program(program_host& around, std::shared_ptr<const application_version> made_of,
          tasks::observer& told);
  ~program();

  [[nodiscard]] const std::shared_ptr<const application_version>& its_version() const noexcept {
    return version_;
  }
  /// Whether this program created the wait or the timer.
  [[nodiscard]] bool is_for(std::uint64_t what) const noexcept {
    return what >> program_shift == version_->number;
  }
  [[nodiscard]] application_kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool has(handler which) const noexcept {
    return functions_[index(which)] != LUA_NOREF;
  }

  /// Calls the handler if main.lua has returned one. Otherwise nothing happens and `then` is
  /// destroyed.
  tasks::outcome call(handler which, pushing arguments, std::unique_ptr<ending> then);

  /// Calls the function of that name in `calls`.
  tasks::outcome call_method(std::string_view method, pushing arguments,
                             std::unique_ptr<ending> then);

  /// Pushes the function of that name in `rpc`. Returns false and pushes nothing if it is absent.
  [[nodiscard]] bool push_rpc(lua_State* to, std::string_view method);

  // ── Events ──────────────────────────────────────────────────────────────────────────────────
  void due(std::uint64_t what);
  /// A reply in CBOR, or the reason why there is no reply.
  void answered(std::uint64_t what, bool ok, const std::string& value);
  [[nodiscard]] sharing& its_sharing() noexcept { return sharing_; }
  /// Releases the data that scripts keep for the client.
  void forget(std::uint64_t client);
  /// Collects garbage between two messages if there is much of it.
  void tidy();

  /// Cancels all timers, and fails all suspended handlers.
  void wind_up(const std::string& why);

  // ── Upgrades ────────────────────────────────────────────────────────────────────────────────
  // The next two functions return the reason of a failure; empty if they succeed. The handlers that
  // they call cannot wait.
  /// Calls on_save, and writes its result and the client.data of each client, as CBOR.
  [[nodiscard]] std::string save(std::string& to);
  /// Restores what another version has saved, and calls on_upgrade.
  [[nodiscard]] std::string take_over(const std::string& saved);
  /// Another version has taken over: ends this version's timers, subscriptions and `run`. Other
  /// suspended handlers may finish.
  void retire();

  // ── For functions that scripts call ─────────────────────────────────────────────────────────
  [[nodiscard]] static program& of(lua_State* in) noexcept {
    return *static_cast<program*>(lua_touserdata(in, lua_upvalueindex(1)));
  }
  [[nodiscard]] program_host& around() noexcept { return around_; }
  [[nodiscard]] tasks& its_tasks() noexcept { return tasks_; }
  [[nodiscard]] connections& its_connections() noexcept { return connections_; }
  [[nodiscard]] state& its_state() noexcept { return state_; }
  [[nodiscard]] const script_version& scripts() const noexcept { return version_->scripts; }
  [[nodiscard]] const limits& allowed() const noexcept { return version_->limits; }

  /// Pushes the client's object; there is only one for each client.
  void push_client(lua_State* to, std::uint64_t id);

  /// Arms a timer that calls the function on top of the stack, which is popped, once or (with
  /// `again`) periodically. Raises an error if there are too many timers.
  std::uint64_t arm(lua_State* in, duration after, bool again);
  bool disarm(std::uint64_t which);

 private:
  // Ids of waits and timers begin with the version number, because two versions may be active in
  // one instance.
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

  program_host& around_;
  const std::shared_ptr<const application_version> version_;
  connections connections_;  // the finalisers of Lua's closing access it
  state state_;
  tasks tasks_;
  sharing sharing_;
  application_kind kind_ = application_kind::raw;
  std::array<int, handlers> functions_{};
  int rpc_ = LUA_NOREF;
  int calls_ = LUA_NOREF;
  int clients_ = LUA_NOREF;  // by their ids; forget() removes entries
  std::uint64_t last_timer_;
  std::unordered_map<std::uint64_t, armed> timers_;
};

/// The functions that scripts see, in the table `troupe` on top of the stack.
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

/// Makes a function that scripts call from a function that may throw.
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

/// Sets functions of the table on top of the stack, each with the program as its first upvalue.
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

/// Returns a duration that a script gives in seconds. Raises an error for an invalid one.
[[nodiscard]] duration check_seconds(lua_State* in, int argument);

}  // namespace troupe::lua::detail
