// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <troupe/http/response.hpp>

namespace troupe::http {

/// A cookie that a response sets in the client: the header Set-Cookie of RFC 6265. The defaults are
/// the careful choice: scripts of a page cannot read it, it is sent only over TLS, and not with
/// requests that other sites cause, except for links.
///
///     http::response r = http::response::text("welcome");
///     http::set_cookie{.name = "__Host-session", .value = token, .max_age = 12h}.add_to(r);
///
/// Threads: a plain value.
struct set_cookie {
  enum class same_site : std::uint8_t {
    strict,  // only with requests from the same site
    lax,     // also when a link or an address leads to this site
    none,    // with all requests; must be secure
  };

  std::string name;
  /// Only visible ASCII without quotes, commas, semicolons and backslashes. Encode anything else,
  /// for example as base64url.
  std::string value = {};
  /// Nothing: until the client ends its session. Zero: the client removes the cookie.
  std::optional<std::chrono::seconds> max_age = {};
  std::string path = "/";
  /// Empty: only this host. A domain: its hosts, too.
  std::string domain = {};
  same_site site = same_site::lax;
  bool http_only = true;
  bool secure = true;

  /// The most bytes of name and value together that clients have to accept.
  static constexpr std::size_t bytes_max = 4096;
  /// The most bytes of a path or a domain.
  static constexpr std::size_t attribute_bytes_max = 1024;

  /// Returns the value of the header.
  ///
  /// Errors: std::invalid_argument for a part that a client could misread or would ignore: a name
  ///         that is not a token, another character in a value, a path without a slash at its
  ///         begin, a domain that is not a host name; for a cookie above the limits; for same_site
  ///         none without secure; for a name that begins with "__Secure-" without secure, or with
  ///         "__Host-" without secure, with another path than "/", or with a domain.
  [[nodiscard]] std::string to_string() const;
  /// Adds the header. A response may set several cookies.
  ///
  /// Errors: as above; then the response is unchanged.
  void add_to(response& to) const;
};

}  // namespace troupe::http
