// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace troupe::lab {

/// In PEM.
struct certificate {
  std::string chain;
  std::string key;
};

/// Makes a self-signed certificate for 127.0.0.1, with a key on the curve P-256, valid for a day.
///
/// Errors: std::runtime_error if OpenSSL cannot make one.
[[nodiscard]] certificate make_certificate();

}  // namespace troupe::lab
