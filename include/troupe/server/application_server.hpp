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

/// A complete server according to a configuration: a system, its applications, and the HTTP server
/// in front of them.
///
/// C++ code can be served beside the applications: an `addition` gets the server and the system
/// before the server listens.
///
/// Threads: one, which must not be in a turn of an actor or run a pump; port(), stop() and reload()
///          from any thread, once start() has returned.
class application_server {
 public:
  /// Adds routes and sessions. Its exceptions leave start().
  using addition = std::function<void(http::server& to, troupe::system& in)>;

  /// `again` supplies the new configuration for reload(); without it, the file that the
  /// configuration was read from is read again.
  ///
  /// Errors: configuration_error for duplicates; std::runtime_error if the log cannot be written;
  ///         exceptions of the constructors of system and http::server, such as http::tls_error for
  ///         an unusable certificate.
  explicit application_server(configuration all, std::vector<addition> also = {},
                              std::function<configuration()> again = {});
  application_server(const application_server&) = delete;
  application_server& operator=(const application_server&) = delete;
  /// Resets all connections and stops the applications.
  ~application_server();

  /// Starts all applications, one at a time, and listens when on_start has returned in each.
  ///
  /// Errors: lua::application_error; std::system_error that names the address and the port.
  void start();

  /// The port that it listens on.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Calls start() if necessary, then serves until SIGTERM, SIGINT or stop(). SIGHUP calls
  /// reload().
  ///
  /// On shutdown the ready path first answers 503, and after shutdown.unready_delay no new
  /// connections are accepted. Connections are then drained for shutdown.drain_timeout, and
  /// applications have shutdown.stop_timeout for on_stop. A second signal terminates the process at
  /// once. Returns the exit code for main(): 0, or 1 if an application did not stop in time.
  ///
  /// `serving` is called when the server listens and signals are caught, for example to report
  /// readiness.
  int run(const std::function<void()>& serving = {});

  /// Makes run() return as SIGTERM does, at once if run() is called later.
  void stop();

  /// Applies those changes of the configuration that need no restart, and reports the others.
  /// Reopens the log file, reads the certificate and key again in any case, and upgrades
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
