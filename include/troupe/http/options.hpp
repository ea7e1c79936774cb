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

/// A server's address, limits and access rules.
struct options {
  /// An IP address or a host name; "0.0.0.0" and "::" stand for all interfaces of the host.
  std::string address = "127.0.0.1";
  /// 0 lets the system choose; server::port() returns the chosen port.
  std::uint16_t port = 8080;
  http::limits limits{};
  /// If set, all connections use TLS: https:// and wss://.
  tls_options tls{};

  /// Rejects WebSocket requests that a browser sends from pages of other sites, with 403. The
  /// Origin must be listed in allowed_origins, as "https://example.org", or name the same host as
  /// the request. The same host is accepted for pages loaded by https. For pages loaded by http it
  /// is accepted only if an attacker cannot make the name resolve to this server (DNS rebinding):
  /// for IP addresses, "localhost", and `address` if it is a name. A request without Origin does
  /// not come from a browser and is accepted.
  bool check_origin = true;
  std::vector<std::string> allowed_origins{};

  /// The number of threads that serve connections. Route handlers run on them, sessions do not.
  std::size_t loops = 1;

  /// Called for each answered request and each closed WebSocket, on the thread of its connection.
  /// It must not block or throw. Cost if it is not set: one test per call.
  std::function<void(const access&)> on_access{};
};

}  // namespace troupe::http
