// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "frames.hpp"

namespace troupe::http::detail {

/// The mask keys of the frames that a client sends. They come from OpenSSL's generator and are
/// unpredictable (RFC 6455, 10.3).
///
/// Threads: a plain value.
/// Cost:    a copy; some microseconds for every 64th key.
class mask_keys {
 public:
  /// Errors: std::runtime_error if OpenSSL fails to supply random numbers.
  [[nodiscard]] mask_key next();

 private:
  std::array<mask_key, 64> keys_{};
  std::size_t used_ = 64;
};

struct no_keys {};

/// The keys that one end of a connection needs.
template <role As>
using keys_of = std::conditional_t<As == role::client, mask_keys, no_keys>;

}  // namespace troupe::http::detail
