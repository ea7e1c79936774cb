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

/// The headers in which trusted proxies name the client.
enum class proxy_header : std::uint8_t {
  any,              // both; they must agree if a request has both
  forwarded,        // Forwarded, RFC 7239
  x_forwarded_for,  // X-Forwarded-For
};

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

  /// The proxies that may name the client that they serve: addresses and networks, as "::1" and
  /// "10.0.0.0/8". Only in a request that comes directly from one of them, `proxy_header` is read,
  /// from its end: the last address that is not of a trusted proxy is the client's. This address
  /// then counts for rates and for connections_per_address_max, and is the peer of the request, of
  /// its WebSocket and in on_access. If the header is malformed, the response is 400.
  std::vector<std::string> trusted_proxies{};
  /// The headers that the trusted proxies write. A proxy that writes one of them may pass on the
  /// other one from the client, so name the one that it writes.
  http::proxy_header proxy_header = http::proxy_header::any;

  /// The number of threads that serve connections. Route handlers run on them, sessions do not.
  std::size_t loops = 1;

  /// Called for each answered request and each closed WebSocket, on the thread of its connection.
  /// It must not block or throw. Cost if it is not set: one test per call.
  std::function<void(const access&)> on_access{};
};

}  // namespace troupe::http
