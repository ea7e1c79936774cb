// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::http {

namespace detail {
class byte_share;
}  // namespace detail

/// Why a request to an http::client failed.
enum class client_error : std::uint8_t {
  none,
  invalid,      // the URL, the method or a header is invalid
  not_allowed,  // client_options::allowed does not name the host
  overloaded,   // client_options: queue_max, bytes_max or websockets_max
  resolve,      // the host name is unknown, or no name server responded
  connect,      // no address of the host accepts a connection
  tls,          // the TLS handshake failed, or the certificate is not valid for the host
  timeout,
  too_large,  // the response's headers or its body
  malformed,  // the response is not HTTP, or not a WebSocket handshake
  closed,     // the connection closed before the end of the response
  refused,    // WebSocket: the response is not 101
  redirects,  // more than fetch::redirects, or one with an invalid location
  stopped,    // the client has stopped
};

/// "not allowed", "too large"
[[nodiscard]] std::string_view to_string(client_error what) noexcept;

using header_list = std::vector<std::pair<std::string, std::string>>;

/// Asks an http::client to make an HTTP request. The reply is `fetched`.
///
///   http::fetch what{.url = "https://example.org/prices?of=tea"};
///   auto got = co_await client.ask<http::fetch>(no_timeout, std::move(what));
///
/// The reply arrives within `time`, so ask() itself needs no timeout.
struct fetch {
  /// The method as it is sent, a token of HTTP: "GET". CONNECT is not supported.
  std::string method = "GET";
  /// "http://" or "https://", a host, and optionally a port, a path and a query. A URL with a user
  /// name or password is refused. The fragment after '#' is not sent.
  std::string url = {};
  /// Additional headers. Host, Connection, Content-Length, Transfer-Encoding, Upgrade and TE are
  /// set by the client and refused here. User-Agent and Accept replace the client's defaults.
  header_list headers = {};
  std::string body = {};

  /// The time limit for the whole request: waiting for a connection, name resolution, all
  /// redirects, until the last byte of the response. At most a day.
  std::chrono::milliseconds timeout{30'000};
  /// Limits of the response: for the status line and headers together, and for the body. Exceeding
  /// one fails as client_error::too_large.
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = 1024 * 1024;
  /// The number of redirects followed; one more fails as client_error::redirects. With 0, a
  /// redirect is returned as the response.
  unsigned redirects = 0;

  [[nodiscard]] std::size_t owned_bytes() const noexcept;
};

/// Checks a fetch without connecting. Returns the problem of a fetch that would fail as
/// client_error::invalid.
[[nodiscard]] std::optional<std::string> validate(const fetch& with);

/// The result of a fetch: a response of any status, or the reason why there was no response.
struct fetched {
  client_error error = client_error::none;
  std::string why = {};  // for people: "cannot connect to 127.0.0.1:81: Connection refused"

  unsigned status = 0;
  header_list headers = {};  // in the order received
  std::string body = {};
  std::string url = {};  // the URL of the response: after redirects, the last one
  /// This response's part of client_options::bytes_max, held until its last copy is destroyed. To
  /// keep a body for long, move `body` out.
  std::shared_ptr<detail::byte_share> share = {};

  [[nodiscard]] explicit operator bool() const noexcept { return error == client_error::none; }
  /// The value of the first header of this name, ignoring case; "" if there is no such header.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
};

}  // namespace troupe::http
