// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace troupe::http::detail {

/// Where a request goes.
struct url {
  bool is_secure = false;
  std::string host = {};  // in lower case; an address of IPv6 without its brackets
  std::uint16_t port = 0;
  std::string target = {};  // path and query, as they are sent: "/prices?of=tea"

  /// What Host says: with the port if that is not the scheme's own.
  [[nodiscard]] std::string authority() const;
  /// "https://example.org:443": what may share a connection.
  [[nodiscard]] std::string origin() const;
  [[nodiscard]] std::string text() const;

  friend bool operator==(const url&, const url&) = default;
};

/// Which schemes: "http" and "https", or "ws" and "wss".
enum class scheme_kind : std::uint8_t { http, websocket };

/// Or what is wrong with it, for people.
using url_or_problem = std::variant<url, std::string>;

[[nodiscard]] url_or_problem parse_url(std::string_view text, scheme_kind of);

/// Where a redirect leads: `location` may be relative. Of http.
[[nodiscard]] url_or_problem redirected(const url& from, std::string_view location);

}  // namespace troupe::http::detail
