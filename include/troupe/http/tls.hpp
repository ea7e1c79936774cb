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

/// A server's certificate and key. Without them the server speaks plain HTTP.
struct tls_options {
  /// A PEM file: the server's certificate first, then the intermediate certificates, without the
  /// root.
  std::filesystem::path certificate = {};
  /// A PEM file without a password.
  std::filesystem::path key = {};
  /// The oldest TLS version accepted.
  tls_version min_version = tls_version::v1_2;

  [[nodiscard]] bool is_set() const noexcept { return !certificate.empty() || !key.empty(); }
};

/// Information from a certificate, for people.
struct tls_certificate {
  std::string subject;  // for example "CN=example.org"
  std::string issuer;
  wall_clock::time_point not_before;
  wall_clock::time_point not_after;
};

/// "CN=example.org, until 2027-01-31 12:00:00 UTC"
[[nodiscard]] std::string to_string(const tls_certificate& of);

/// A warning about a certificate that clients refuse at that time or will refuse soon: "it has
/// expired", "it is not valid yet", "it expires within two weeks". Empty if there is no problem.
[[nodiscard]] std::string_view expiry_warning(const tls_certificate& of,
                                              wall_clock::time_point when);

/// Thrown for a certificate or a key that cannot be used. The text is one line that names the file:
/// "key \"key.pem\" does not belong to certificate \"certificate.pem\"".
class tls_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads and checks both files as a server does.
///
/// Errors: tls_error. A certificate that is not yet valid, or has expired, is not an error: compare
///         not_before and not_after.
[[nodiscard]] tls_certificate read_certificate(const tls_options& of);

}  // namespace troupe::http
