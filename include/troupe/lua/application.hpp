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

/// Thrown for an invalid application. The text names the file and the line, and says what to do.
class application_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The options of one application.
struct application_options {
  /// Letters, digits, '-' and '_'. Other applications use this name to send to it.
  std::string name;
  /// The folder that contains main.lua, or a single file.
  std::filesystem::path from;
  /// The number of Lua states, each in its own actor. A connection belongs to one of them.
  unsigned instances = 1;
  /// The key that assigns a connection to an instance, as "query:room", "header:X-User" or "path".
  /// Equal values go to the same instance. Empty: the instance with the fewest connections.
  std::string key = {};
  lua::limits limits = {};
  /// The hosts to which its scripts may connect, with troupe.http and troupe.websocket.
  http::allowed_hosts outgoing = http::allowed_hosts::all();
  /// The certificate authorities trusted for https and wss, as
  /// http::client_options::trusted_certificates.
  std::filesystem::path outgoing_trusted = {};
  /// The limit for the bytes of all pending requests of its scripts and of their responses, as
  /// http::client_options::bytes_max.
  std::size_t outgoing_bytes = 32 * 1024 * 1024;
  /// One JSON value, which scripts read as troupe.config.
  std::string config = "{}";
  /// The limits of troupe.store, which all its instances share.
  store_options store = {};
};

/// Counters of an application since its creation. Each number is exact; two of them may be from
/// slightly different moments.
struct application_statistics {
  std::uint64_t clients = 0;       // now
  std::uint64_t waiting = 0;       // suspended handlers, now
  std::uint64_t memory_bytes = 0;  // of all its Lua states, now
  std::uint64_t connections = 0;   // opened by scripts, now
  std::uint64_t clients_ever = 0;
  std::uint64_t messages_in = 0;        // from clients
  std::uint64_t messages_out = 0;       // to clients
  std::uint64_t calls = 0;              // from other applications and actors
  std::uint64_t fetched = 0;            // requests made by scripts
  std::uint64_t outgoing_failures = 0;  // requests and connections without a response
  std::uint64_t failures = 0;  // handlers that ended with an error, including the following two
  std::uint64_t out_of_time = 0;
  std::uint64_t out_of_memory = 0;
  std::uint64_t malformed = 0;   // messages that violate the protocol
  std::uint64_t overloaded = 0;  // refused because of a limit
  std::uint64_t restarts = 0;    // of instances
  std::uint64_t upgrades = 0;    // of instances
};

/// The kind of an application, determined from its scripts.
enum class application_kind : std::uint8_t {
  raw,         // on_message: text and binary messages, unchanged
  rpc,         // rpc: methods
  standalone,  // run
};

/// A group of applications that can send to each other, and share topics, queues and a store.
///
/// Threads: any; copies are equivalent. All of them must be destroyed before the system.
class community {
 public:
  explicit community(troupe::system& on, log_sink log = {}, const shared_limits& allowed = {});

  /// Makes a C++ actor available to the applications under a name, for requests and messages:
  /// troupe.ask("prices", …). The reference is held as long as the community exists.
  ///
  /// Errors: std::invalid_argument if an application or another actor has the name.
  template <callable A>
  void add(const std::string& name, ref<A> actor) {
    add_target(name, call_target::of(std::move(actor)));
  }

  /// The metrics of its applications, of the resources that they share, and those defined by their
  /// scripts: for http::server::metrics().
  [[nodiscard]] std::vector<http::figure_family> figures() const;

  class state;
  [[nodiscard]] const std::shared_ptr<state>& its_state() const noexcept { return state_; }

 private:
  void add_target(const std::string& name, call_target to);

  std::shared_ptr<state> state_;
};

/// A Lua application: a folder of scripts that runs in a number of actors.
///
/// Threads: one at a time, not in a turn of an actor and not running a pump; statistics() from any
///          thread.
/// Lifetime: it must be destroyed before the system, and after the server that serves it, unless
///           that server has been stopped.
class application {
 public:
  /// Reads the scripts, starts the instances, and waits until on_start has returned in each.
  ///
  /// Errors: application_error for invalid options or scripts.
  application(const community& among, application_options options);
  application(application&&) noexcept;
  /// Calls stop().
  ~application();

  /// Reads and compiles all scripts and runs main.lua, but starts nothing. Errors:
  /// application_error.
  [[nodiscard]] static application_kind check(const application_options& options);

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] application_kind kind() const noexcept;

  /// Serves its clients at `path` of a server that has not been started. No effect for a standalone
  /// application.
  void serve(http::server& on, std::string path);

  /// Runs on_stop in all instances. False if an instance had not stopped by the deadline.
  bool stop(duration deadline);

  /// Whether a script file has changed since it was read, by the current version or by a refused
  /// one.
  [[nodiscard]] bool is_outdated() const;
  /// Whether the version that was last tried was refused, or does not run in all instances.
  [[nodiscard]] bool is_behind() const;

  /// Upgrades all instances to the current scripts, while connections stay open.
  ///
  /// Each instance loads the new version beside the old one and runs its on_start and self_test.
  /// When these have succeeded in all instances, the instances switch one at a time, between two
  /// messages: the value that on_save of the old version returns is passed to on_upgrade of the new
  /// one. Suspended handlers of the old version continue, and fail after limits::upgrade_timeout.
  ///
  /// Returns the reason in one line if the upgrade failed, and an empty string if it succeeded.
  /// After a failure the old version continues. If on_save or on_upgrade has failed in an instance
  /// other than the first, the instances before it have already switched, and the line says so.
  ///
  /// Threads: as for the class. It returns after at most 2 x upgrade_timeout, 4 x run_timeout and 5 s.
  std::string upgrade();
  /// The same, with new limits for the scripts and a new troupe.config.
  std::string upgrade(const lua::limits& allowed, std::string config);

  [[nodiscard]] application_statistics statistics() const;

 private:
  class state;
  std::shared_ptr<state> state_;
};

}  // namespace troupe::lua
