// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include <troupe/base/clock.hpp>

namespace troupe::http {

enum class tls_version : std::uint8_t { v1_2, v1_3 };

/// What a server proves with who it is. Without it, it speaks plain HTTP.
struct tls_options {
  /// In PEM: its certificate first, then those that it was signed with, but for the last.
  std::filesystem::path certificate = {};
  /// In PEM, without a password.
  std::filesystem::path key = {};
  /// The oldest version that is spoken.
  tls_version min_version = tls_version::v1_2;

  [[nodiscard]] bool is_set() const noexcept { return !certificate.empty() || !key.empty(); }
};

/// What a certificate says of itself, for people.
struct tls_certificate {
  std::string subject;  // as "CN=example.org"
  std::string issuer;
  wall_clock::time_point not_before;
  wall_clock::time_point not_after;
};

/// "CN=example.org, until 2027-01-31 12:00:00 UTC"
[[nodiscard]] std::string to_string(const tls_certificate& of);

/// Why clients will refuse it then, or soon: "it has expired", "it is not valid yet", "it expires within two weeks".
/// Empty if they will not.
[[nodiscard]] std::string_view worry_about(const tls_certificate& of, wall_clock::time_point when);

/// A certificate or a key that cannot be used, in one line with its file:
/// "key \"key.pem\" does not belong to certificate \"certificate.pem\"".
class tls_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads both files as a server would.
///
/// Errors: tls_error. A certificate whose time has not come, or is over, is none: not_before and not_after say so.
[[nodiscard]] tls_certificate read_certificate(const tls_options& of);

}  // namespace troupe::http
