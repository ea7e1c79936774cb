// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "frames.hpp"

namespace troupe::http::detail {

/// The keys of the frames that a client sends, from OpenSSL's generator: nobody can predict them (RFC 6455, 10.3).
///
/// Threads: a plain value.
/// Cost:    a copy; for each 64th of them some microseconds.
class mask_keys {
 public:
  /// Errors: std::runtime_error if OpenSSL has no random numbers.
  [[nodiscard]] mask_key next();

 private:
  std::array<mask_key, 64> keys_{};
  std::size_t used_ = 64;
};

struct no_keys {};

/// What one end of a connection needs of these.
template <role As>
using keys_of = std::conditional_t<As == role::client, mask_keys, no_keys>;

}  // namespace troupe::http::detail
