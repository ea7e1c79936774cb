// SPDX-License-Identifier: Apache-2.0

#include "mask_keys.hpp"

#include <openssl/rand.h>

#include <stdexcept>

namespace troupe::http::detail {

mask_key mask_keys::next() {
  if (used_ == keys_.size()) {
    const auto bytes = static_cast<int>(sizeof keys_);
    if (RAND_bytes(reinterpret_cast<unsigned char*>(keys_.data()), bytes) != 1) {
      throw std::runtime_error("OpenSSL cannot generate the masks of a WebSocket");
    }
    used_ = 0;
  }
  return keys_[used_++];
}

}  // namespace troupe::http::detail
