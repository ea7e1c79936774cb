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

/// The client of an application: what its scripts ask, and connect to, goes through it. There is none, and no thread
/// for it, until a script wants one.
///
/// Threads: any.
class outgoing_client {
 public:
  outgoing_client(troupe::system& on, const application_options& of) : system_(on), options_(of) {}
  ~outgoing_client() { end(); }

  /// Errors: std::runtime_error if the application has ended; std::invalid_argument if its trusted certificates cannot
  /// be read.
  [[nodiscard]] ref<http::client> get();

  /// Cuts all connections. A name that is being looked up is waited for.
  void end() noexcept;

 private:
  troupe::system& system_;
  const application_options& options_;
  mutex mutex_;                      // guards what follows
  std::unique_ptr<net::loop> loop_;  // null: none yet, or over
  ref<http::client> client_;
  bool over_ = false;
};

}  // namespace troupe::lua::detail
