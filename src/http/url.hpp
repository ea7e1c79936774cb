// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace troupe::http::detail {

/// The target of a request.
struct url {
  bool is_secure = false;
  std::string host = {};  // in lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string target = {};  // path and query, as sent: "/prices?of=tea"

  /// The value of the Host header: with the port unless it is the scheme's own.
  [[nodiscard]] std::string authority() const;
  /// "https://example.org:443". URLs of the same origin may share a connection.
  [[nodiscard]] std::string origin() const;
  [[nodiscard]] std::string text() const;

  friend bool operator==(const url&, const url&) = default;
};

/// The allowed schemes: "http" and "https", or "ws" and "wss".
enum class scheme_kind : std::uint8_t { http, websocket };

/// A URL, or a readable description of the error.
using url_or_problem = std::variant<url, std::string>;

[[nodiscard]] url_or_problem parse_url(std::string_view text, scheme_kind of);

/// The target of an HTTP redirect. `location` may be relative.
[[nodiscard]] url_or_problem redirected(const url& from, std::string_view location);

}  // namespace troupe::http::detail
