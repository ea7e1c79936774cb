// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::http {

/// Why an http::client has not got what it was asked for.
enum class client_error : std::uint8_t {
  none,
  invalid,      // what was asked is none: its URL, method, a header
  not_allowed,  // client_options::allowed does not name the host
  overloaded,   // too many wait, or are connected
  resolve,      // the name of the host is not known, or nobody could be asked
  connect,      // no address of the host lets itself be connected to
  tls,          // no TLS with the host, or not with whom it should be
  timeout,
  too_large,  // the answer, its headers or its body
  malformed,  // the answer is no HTTP, or no WebSocket's handshake
  closed,     // the connection was over before the answer
  refused,    // a WebSocket: the answer is another one than 101
  redirects,  // more than were to be followed, or to nowhere
  stopped,    // the client has ended
};

/// "not allowed", "too large"
[[nodiscard]] std::string_view to_string(client_error what) noexcept;

using header_list = std::vector<std::pair<std::string, std::string>>;

/// To an http::client: make this request. It answers `fetched`.
///
///   http::fetch what{.url = "https://example.org/prices?of=tea"};
///   auto got = co_await client.ask<http::fetch>(no_timeout, std::move(what));
///
/// An answer comes in `time` at the latest; so ask() itself needs no time-out.
struct fetch {
  /// A token of HTTP, as it is sent: "GET". CONNECT is not made.
  std::string method = "GET";
  /// "http://" or "https://", a host, perhaps a port, a path, a query. A user's name or a password in it is
  /// refused; what is behind '#' is not sent.
  std::string url = {};
  /// Beside those that the client says itself: Host, Connection, Content-Length, Transfer-Encoding, Upgrade and TE
  /// are refused; User-Agent and Accept are the client's if they are not here.
  header_list headers = {};
  std::string body = {};

  /// For all of it: waiting for a connection, looking up the name, all redirects, the answer's last byte. A day at
  /// most.
  std::chrono::milliseconds time{30'000};
  /// Of the answer: the status line and its headers; and its body. More is client_error::too_large.
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = 1024 * 1024;
  /// So many are followed; one more is client_error::redirects. With none, the answer is the redirect.
  unsigned redirects = 0;

  [[nodiscard]] std::size_t owned_bytes() const noexcept;
};

/// What is wrong with it, if something is, before anything is connected to: what would be client_error::invalid.
[[nodiscard]] std::optional<std::string> what_is_wrong(const fetch& with);

/// What became of a fetch: an answer, whatever its status is, or why there is none.
struct fetched {
  client_error error = client_error::none;
  std::string why = {};  // for people: "cannot connect to 127.0.0.1:81: Connection refused"

  unsigned status = 0;
  header_list headers = {};  // in their order
  std::string body = {};
  std::string url = {};  // from where: the last one, if redirects were followed

  [[nodiscard]] explicit operator bool() const noexcept { return error == client_error::none; }
  /// The value of the first header of that name, in any case; "" if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
};

}  // namespace troupe::http
