// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::http::detail {

/// Decides from which pages a browser may open a WebSocket: browsers let any page try, and send the
/// user's cookies along; only the server can refuse.
///
/// Threads: immutable after construction.
class origin_policy {
 public:
  /// `is_secure`: the server's own pages come by https. Otherwise by http, or by https if there is a proxy in front.
  ///
  /// Errors: std::invalid_argument for an allowed origin that is not "scheme://host" or
  ///         "scheme://host:port".
  origin_policy(bool check, const std::vector<std::string>& allowed, bool is_secure = false);

  /// `origin` and `host` are the headers' values, "" where there is none.
  [[nodiscard]] bool allows(std::string_view origin, std::string_view host) const;

 private:
  bool check_;
  bool is_secure_;
  std::vector<std::string> allowed_;  // normal form
};

}  // namespace troupe::http::detail
