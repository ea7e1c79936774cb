// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client_address.hpp"

namespace troupe::http::detail {

/// The proxies whose word about a client's address counts: http::options::trusted_proxies.
///
/// Threads: immutable after construction.
class trusted_proxies {
 public:
  trusted_proxies() = default;
  /// Each is an address or a network: "::1", "10.0.0.0/8".
  ///
  /// Errors: std::invalid_argument that names the wrong entry.
  explicit trusted_proxies(const std::vector<std::string>& listed);

  [[nodiscard]] bool is_empty() const noexcept { return networks_.empty(); }
  /// `who`: unmapped.
  [[nodiscard]] bool trusts(const ip_address& who) const noexcept;

 private:
  struct network {
    std::array<std::uint8_t, 16> bits{};  // an IPv4 address has 4 bytes
    unsigned prefix = 0;
    bool is_v6 = false;
  };

  static network parse(std::string_view text);

  std::vector<network> networks_;
};

}  // namespace troupe::http::detail
