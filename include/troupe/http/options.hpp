// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <troupe/http/access.hpp>
#include <troupe/http/limits.hpp>
#include <troupe/http/tls.hpp>

namespace troupe::http {

/// Where a server listens and whom it lets in.
struct options {
  /// An address or the name of one; "0.0.0.0" and "::" stand for all of this machine.
  std::string address = "127.0.0.1";
  /// 0 lets the system choose; server::port() tells what it chose.
  std::uint16_t port = 8080;
  http::limits limits{};
  /// If it is set, all connections are secured: https:// and wss://.
  tls_options tls{};

  /// A WebSocket request that a browser sends from another site's page is answered with 403: its
  /// Origin must be the host that it asks, or be listed here as "https://example.org". On a server
  /// with TLS that is the host with https. A request without Origin comes from no browser and passes.
  bool check_origin = true;
  std::vector<std::string> allowed_origins{};

  /// Threads that connections are spread over. Route handlers run on them, sessions do not.
  std::size_t loops = 1;

  /// Is told of each answered request and of each WebSocket that is over, on the thread of its
  /// connection: it must not wait for anything, nor throw. Cost without it: a test for each.
  std::function<void(const access&)> on_access{};
};

}  // namespace troupe::http
