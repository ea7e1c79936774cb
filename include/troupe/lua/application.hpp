// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/http/client_options.hpp>
#include <troupe/http/figures.hpp>
#include <troupe/http/server.hpp>
#include <troupe/lua/call.hpp>
#include <troupe/lua/limits.hpp>
#include <troupe/lua/log.hpp>
#include <troupe/lua/shared.hpp>
#include <troupe/troupe.hpp>

namespace troupe::lua {

/// What is wrong with an application: its text names the file, the line and what to do.
class application_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One application.
struct application_options {
  /// Letters, digits, '-' and '_'. Other applications send to it by that name.
  std::string name;
  /// The folder of its main.lua, or one file.
  std::filesystem::path from;
  /// Lua states, each in an actor of its own. A connection belongs to one of them.
  unsigned instances = 1;
  /// By what a connection is given to an instance, as "query:room", "header:X-User" or "path": equal values come to
  /// the same one. Empty: the instance with the fewest connections.
  std::string key = {};
  lua::limits limits = {};
  /// Where its scripts may connect to, with troupe.http and troupe.websocket.
  http::allowed_hosts outgoing = http::allowed_hosts::all();
  /// Whom they believe who an https or wss host is: as http::client_options::trusted_certificates.
  std::filesystem::path outgoing_trusted = {};
  /// One JSON value, what scripts see as troupe.config.
  std::string config = "{}";
  /// Of troupe.store, which all its instances have.
  store_options store = {};
};

/// What an application has done since it was made. Each number is exact; two of them may be from slightly different
/// moments.
struct application_statistics {
  std::uint64_t clients = 0;       // at the moment
  std::uint64_t waiting = 0;       // handlers that wait, at the moment
  std::uint64_t memory_bytes = 0;  // of all its Lua states, at the moment
  std::uint64_t connections = 0;   // that scripts have opened, at the moment
  std::uint64_t clients_ever = 0;
  std::uint64_t messages_in = 0;        // from clients
  std::uint64_t messages_out = 0;       // to clients
  std::uint64_t calls = 0;              // from other applications and actors
  std::uint64_t fetched = 0;            // requests that scripts have made
  std::uint64_t outgoing_failures = 0;  // of these, and of connections, had no answer
  std::uint64_t failures = 0;           // handlers that ended with an error, the following included
  std::uint64_t out_of_time = 0;
  std::uint64_t out_of_memory = 0;
  std::uint64_t malformed = 0;   // messages that the protocol refuses
  std::uint64_t overloaded = 0;  // refused for a limit
  std::uint64_t restarts = 0;    // of instances
  std::uint64_t upgrades = 0;    // of instances
};

/// What kind of application a script has turned out to be.
enum class application_kind : std::uint8_t {
  raw,         // on_message: text and binary as they come
  rpc,         // rpc: methods
  standalone,  // run
};

/// Applications that know each other: they send to each other, and share topics, queues and a store.
///
/// Threads: any; copies are equal. All of them end before the system.
class community {
 public:
  explicit community(troupe::system& on, log_sink log = {}, const shared_limits& allowed = {});

  /// Lets applications ask an actor in C++, and send to it, by a name: troupe.ask("prices", …). The reference stays
  /// for as long as the community.
  ///
  /// Errors: std::invalid_argument if an application or another actor has the name.
  template <callable A>
  void add(const std::string& name, ref<A> actor) {
    add_target(name, call_target::of(std::move(actor)));
  }

  /// What its applications do and have, what they share, and what their scripts count: for http::server::metrics().
  [[nodiscard]] std::vector<http::figure_family> figures() const;

  class state;
  [[nodiscard]] const std::shared_ptr<state>& its_state() const noexcept { return state_; }

 private:
  void add_target(const std::string& name, call_target to);

  std::shared_ptr<state> state_;
};

/// An application in Lua: a folder of scripts that runs in a number of actors.
///
/// Threads: one at a time, which gives no turns to actors; statistics() from any.
/// It must be destroyed before the system, and after the server that serves it, or that has stopped.
class application {
 public:
  /// Reads the scripts, starts the instances and waits until on_start has returned in each.
  ///
  /// Errors: application_error for what is wrong with the options or the scripts.
  application(const community& among, application_options options);
  application(application&&) noexcept;
  /// stop().
  ~application();

  /// Reads and compiles all scripts, runs main.lua, and starts nothing. Errors: application_error.
  [[nodiscard]] static application_kind check(const application_options& options);

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] application_kind kind() const noexcept;

  /// Serves its clients at `path` of a server that has not been started. Nothing for a standalone one.
  void serve(http::server& on, std::string path);

  /// Has on_stop run in all instances. False if one had not ended by the deadline.
  bool stop(duration deadline);

  /// Whether a script that was read, by this version or by one that was refused, has changed since.
  [[nodiscard]] bool is_outdated() const;
  /// Whether the version that was tried last was refused, or does not run in all instances.
  [[nodiscard]] bool is_behind() const;

  /// Has the scripts as they are now take over, in all instances, while connections stay open.
  ///
  /// The new version is loaded beside the old one in each instance, and its on_start and self_test run. When these have
  /// passed in all of them, one instance after the other changes over between two messages: what on_save of the old version
  /// returns is given to on_upgrade of the new one. Handlers of the old version that wait go on, and fail after
  /// limits::upgrade_time.
  ///
  /// Returns why it was not done, in one line; empty: it was. The old version goes on then. If on_save or on_upgrade has
  /// failed in another instance than the first, those before it have changed over, and the line says so.
  ///
  /// Threads: as the rest; it returns after 2 x upgrade_time, 4 x run_time and 5 s at the latest.
  std::string upgrade();
  /// The same, with what scripts may take and with troupe.config.
  std::string upgrade(const lua::limits& allowed, std::string config);

  [[nodiscard]] application_statistics statistics() const;

 private:
  class state;
  std::shared_ptr<state> state_;
};

}  // namespace troupe::lua
