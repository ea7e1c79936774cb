// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <troupe/http/server.hpp>
#include <troupe/server/configuration.hpp>
#include <troupe/server/control.hpp>
#include <troupe/troupe.hpp>

namespace troupe::server {

/// A complete server according to a configuration: a system, its applications, the HTTP server in
/// front of them, and an admin listener for metrics and health checks.
///
/// C++ code can be served beside the applications: an `addition` gets the server and the system
/// before the server listens.
///
/// Threads: one, which must not be in a turn of an actor or run a pump; port(), stop() and reload()
///          from any thread, once start() has returned.
class application_server {
 public:
  /// A function that adds routes and sessions. Exceptions from it leave start().
  using addition = std::function<void(http::server& to, troupe::system& in)>;

  /// Prepares a server; start() or run() starts it. `again` supplies the new configuration for
  /// reload(). Without `again`, the file that the configuration was read from is read again.
  ///
  /// Errors: configuration_error for duplicates, an invalid admin.listen and an invalid name in
  ///         admin.host_names; std::runtime_error if the log cannot be written;
  ///         exceptions of the constructors of system and http::server, such as http::tls_error for
  ///         an unusable certificate.
  explicit application_server(configuration all, std::vector<addition> also = {},
                              std::function<configuration()> again = {});
  application_server(const application_server&) = delete;
  application_server& operator=(const application_server&) = delete;
  /// Resets all connections and stops the applications.
  ~application_server();

  /// Starts the admin listener, then all applications, one at a time, and listens for clients when
  /// on_start has returned in each. Until then the ready path is answered with 503.
  ///
  /// Errors: lua::application_error; std::system_error that names the address and the port.
  void start();

  /// Returns the port that the server listens on.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// That of the admin listener; 0 if it is off or a Unix domain socket.
  [[nodiscard]] std::uint16_t admin_port() const noexcept;

  /// Calls start() if necessary, then serves until SIGTERM, SIGINT or stop(). SIGHUP calls
  /// reload().
  ///
  /// On shutdown the ready path first answers 503, and after shutdown.unready_delay no new
  /// connections are accepted. Connections are then drained for shutdown.drain_timeout, and
  /// applications have shutdown.stop_timeout for on_stop. The admin listener serves until they have
  /// stopped. A second signal terminates the process at
  /// once. Returns the exit code for main(): 0, or 1 if an application did not stop in time.
  ///
  /// `serving` is called when the server listens and signals are caught, for example to report
  /// readiness.
  int run(const std::function<void()>& serving = {});

  /// Makes run() return, as SIGTERM does. If run() is called later, it returns at once.
  void stop();

  /// Applies the changes of the configuration that need no restart, and reports the others. In any
  /// case, reload() reopens the log file and reads the certificate and the key again. It upgrades
  /// applications whose scripts, limits or `config` have changed. If the configuration or the
  /// certificate is invalid, nothing changes.
  ///
  /// Returns the text that is also logged. Cost: it returns when all upgrades have finished, each
  /// after at most about 2 x upgrade_timeout.
  command_result reload();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::server
