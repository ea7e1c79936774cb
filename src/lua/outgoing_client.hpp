// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include <troupe/http/client.hpp>
#include <troupe/lua/application.hpp>
#include <troupe/net/loop.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/troupe.hpp>

namespace troupe::lua::detail {

/// The HTTP client of an application. The requests and connections of its scripts go through it.
/// The client and its thread are created when a script first needs them.
///
/// Threads: any.
class outgoing_client {
 public:
  outgoing_client(troupe::system& on, const application_options& of) : system_(on), options_(of) {}
  ~outgoing_client() { end(); }

  /// Errors: std::runtime_error if the application has ended; std::invalid_argument if its trusted
  ///         certificates cannot be read.
  [[nodiscard]] ref<http::client> get();

  /// Closes all connections. Waits for a name lookup that is in progress.
  void end() noexcept;

 private:
  troupe::system& system_;
  const application_options& options_;
  mutex mutex_;                      // guards the members below
  std::unique_ptr<net::loop> loop_;  // null: not created yet, or ended
  ref<http::client> client_;
  bool over_ = false;
};

}  // namespace troupe::lua::detail
