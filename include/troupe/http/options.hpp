// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
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
  /// An IP address or a host name; "0.0.0.0" and "::" stand for all interfaces of the host. Or
  /// "unix:PATH": a Unix domain socket, which only the user of this process and root may connect
  /// to. The file of a socket that no process listens on is replaced, and the file is removed at
  /// the end. All its clients count as one address, and request::peer() is "unix".
  std::string address = "127.0.0.1";
  /// The port to listen on. 0 lets the system choose; server::port() returns the chosen port. Not
  /// used with "unix:PATH".
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

  /// Rejects requests whose Host is a name that an attacker can make resolve to this server, with
  /// 421, so that no web page can read responses through DNS rebinding. IP addresses, "localhost",
  /// `address` if it is a name, and host_names are accepted, with any port. Requests without
  /// a Host are accepted, too: they do not come from a browser.
  bool check_host = false;
  /// More names of this server, without a port.
  std::vector<std::string> host_names{};

  /// The proxies that may name the client that they serve: addresses and networks, as "::1" and
  /// "10.0.0.0/8". `proxy_header` is read only in a request that comes directly from one of them.
  /// It is read from its end: the last address that does not belong to a trusted proxy is the
  /// client's. Rates and connections_per_address_max then apply to this address. It is also the
  /// peer of the request, of its WebSocket and in on_access. If the header is malformed, the
  /// response is 400. A server on a Unix socket cannot have any.
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

/// Options of a server for operations alone, which serves metrics and health checks apart from the
/// clients (see server::metrics_of()). Its limits are small: 32 connections, requests of 8 KiB,
/// 10 seconds for a request. check_host is set, except for a Unix socket, to which no web page can
/// connect.
///
/// `listen`: "ADDRESS:PORT", with an IPv6 address in brackets, or "unix:PATH".
///
/// Errors: std::invalid_argument if it is neither.
[[nodiscard]] options admin_options(std::string_view listen = "127.0.0.1:9180");

}  // namespace troupe::http
