// SPDX-License-Identifier: Apache-2.0

#include "ticket_keys.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

namespace troupe::http::detail {

ticket_key ticket_key::random() {
  ticket_key made;
  const auto fill = [](auto& bytes) {
    if (RAND_priv_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1) return;
    throw std::runtime_error("OpenSSL cannot generate the keys of TLS tickets");
  };
  fill(made.name);
  fill(made.cipher);
  fill(made.mac);
  return made;
}

ticket_key::~ticket_key() {
  OPENSSL_cleanse(cipher.data(), cipher.size());
  OPENSSL_cleanse(mac.data(), mac.size());
}

// A key older than one period no longer encrypts; a key older than two periods is erased.
void ticket_keys::forget(time_point now) noexcept {
  if (current_ && now - current_->made >= period_) {
    before_ = current_;
    current_.reset();
  }
  if (before_ && now - before_->made >= 2 * period_) before_.reset();
}

ticket_key ticket_keys::for_encrypting(time_point now) {
  const std::lock_guard lock(mutex_);
  forget(now);
  if (!current_) current_ = aged{ticket_key::random(), now};
  return current_->key;
}

std::optional<ticket_keys::found> ticket_keys::for_decrypting(std::span<const unsigned char> name,
                                                              time_point now) {
  const std::lock_guard lock(mutex_);
  forget(now);
  for (const auto* each : {&current_, &before_}) {
    if (*each && std::ranges::equal((*each)->key.name, name)) {
      return found{(*each)->key, each == &before_};
    }
  }
  return std::nullopt;
}

}  // namespace troupe::http::detail
