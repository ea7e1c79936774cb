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

/// All that a configuration says, made and running: a system, the applications in it, and the HTTP server before them.
///
/// What is in C++ is served beside the applications: an addition is given server and system before it listens.
///
/// Threads: one, which gives no turns to actors; port(), stop() and reload() from others too, once start() has returned.
class application_server {
 public:
  /// Adds routes and sessions. What it throws, start() throws.
  using addition = std::function<void(http::server& to, troupe::system& in)>;

  /// `again` gets the configuration anew for reload(); without it, the file that this one was read from is read.
  ///
  /// Errors: configuration_error for what is there twice; std::runtime_error if the log cannot be written; what the
  ///         constructors of system and http::server throw: http::tls_error for a certificate that cannot be used.
  explicit application_server(configuration all, std::vector<addition> also = {},
                              std::function<configuration()> again = {});
  application_server(const application_server&) = delete;
  application_server& operator=(const application_server&) = delete;
  /// Cuts all connections and stops the applications.
  ~application_server();

  /// Starts all applications, one after the other, and listens when on_start has returned in each.
  ///
  /// Errors: lua::application_error; std::system_error that names address and port.
  void start();

  /// The port that it listens on.
  [[nodiscard]] std::uint16_t port() const noexcept;

  /// start(), unless that was done; then serves until SIGTERM, SIGINT or stop(). SIGHUP is reload().
  ///
  /// In the end the ready path answers 503, and after shutdown.unready_time nobody is let in any more; connections are
  /// drained for shutdown.drain_time, and applications have shutdown.stop_time for on_stop. A second signal ends the
  /// process at once. Returns what main() should: 0, or 1 if an application did not stop in time.
  ///
  /// `serving` is called once it listens and a signal would be heard: the moment to say so.
  int run(const std::function<void()>& serving = {});

  /// Has run() return as if by SIGTERM; it does so at once if it comes later.
  void stop();

  /// Takes over what can change while it runs, and names what needs a restart; opens the log's file anew; reads certificate and key
  /// again, whether the configuration has changed or not; upgrades applications whose scripts, bounds or `config` have changed. If
  /// configuration or certificate are wrong, everything stays as it is.
  ///
  /// Returns what the log says of it. Cost: it returns when the upgrades are done, after some 2 x upgrade_time of each at the latest.
  command_result reload();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::server
