// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe::http::detail {

/// Returns true if no attacker can make the host of "host[:port]" resolve to this server (DNS
/// rebinding): an IP address, "localhost" and names below it, and `own_name`. Both texts must be in
/// lower case.
[[nodiscard]] bool is_safe_from_rebinding(std::string_view authority, std::string_view own_name);

/// Decides for which hosts a server responds. The owner of evil.example can make that name resolve
/// to this server after a page of evil.example was loaded (DNS rebinding). For the browser both are
/// then the same origin, so the page can read the responses. But the Host of its requests is still
/// evil.example.
///
/// Threads: immutable after construction.
class host_policy {
 public:
  /// `listens_on`: http::options::address. `names`: more hosts, without a port.
  ///
  /// Errors: std::invalid_argument for a name that is empty or has other characters than those of
  ///         host names.
  host_policy(bool check, const std::vector<std::string>& names, std::string_view listens_on);

  /// `host` is the value of the header, or "" if it is missing, which no browser does.
  [[nodiscard]] bool allows(std::string_view host) const;

 private:
  bool check_;
  std::string listens_on_;          // in lower case
  std::vector<std::string> names_;  // in lower case
};

}  // namespace troupe::http::detail
