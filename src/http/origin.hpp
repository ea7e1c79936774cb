// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::http::detail {

/// Decides which pages may open a WebSocket from a browser. Browsers let any page try, and send the
/// user's cookies along, so only the server can refuse.
///
/// A page of the same host is the server's own only if no attacker controls the name. The owner of
/// evil.example can make that name resolve to this server after the page was loaded (DNS
/// rebinding); Origin and Host are then equal. Therefore the host must be an IP address,
/// "localhost", or the name that the server listens on; or the page must have come by https, where
/// the certificate proves the name.
///
/// Threads: immutable after construction.
class origin_policy {
 public:
  /// `is_secure`: the server's own pages come by https. Otherwise they come by http, or by https if
  /// there is a proxy in front. `listens_on`: http::options::address.
  ///
  /// Errors: std::invalid_argument for an allowed origin that is not "scheme://host" or
  ///         "scheme://host:port".
  origin_policy(bool check, const std::vector<std::string>& allowed, bool is_secure = false,
                std::string_view listens_on = {});

  /// `origin` and `host` are the values of the headers, or "" if a header is missing.
  [[nodiscard]] bool allows(std::string_view origin, std::string_view host) const;

 private:
  [[nodiscard]] bool is_own(std::string_view authority) const;

  bool check_;
  bool is_secure_;
  std::string listens_on_;            // in lower case
  std::vector<std::string> allowed_;  // normal form
};

}  // namespace troupe::http::detail
