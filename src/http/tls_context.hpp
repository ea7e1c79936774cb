// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

#include <troupe/http/tls.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::http::detail {

enum class tls_role : std::uint8_t { server, client };

/// The authorities that a client trusts.
struct tls_trust {
  /// A PEM file; if empty, the authorities that the system trusts.
  std::filesystem::path authorities = {};
  tls_version min_version = tls_version::v1_2;
};

/// The state that all TLS connections of one kind share: certificate and key, or trusted
/// authorities, and the allowed protocols.
///
/// Threads: any. It is immutable, except for the ticket keys of a server, which it replaces itself.
class tls_context {
 public:
  /// Errors: tls_error with the name of the file.
  [[nodiscard]] static std::shared_ptr<const tls_context> for_server(const tls_options& from);
  [[nodiscard]] static std::shared_ptr<const tls_context> for_client(const tls_trust& whom);

  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;
  ~tls_context();

  /// OpenSSL counts the references to it and locks it internally.
  [[nodiscard]] SSL_CTX* get() const noexcept { return context_; }
  [[nodiscard]] tls_role role() const noexcept { return role_; }
  /// For a server only.
  [[nodiscard]] const tls_certificate& certificate() const noexcept { return certificate_; }

 private:
  tls_context(tls_role role, tls_version least);

  SSL_CTX* context_;
  const tls_role role_;
  tls_certificate certificate_{};
};

/// The context for new connections. It may be replaced while older connections keep the previous
/// one.
///
/// Threads: any.
class current_tls {
 public:
  /// Null if connections are not secured.
  [[nodiscard]] std::shared_ptr<const tls_context> get() const {
    const std::lock_guard lock(mutex_);
    return is_;
  }
  void set(std::shared_ptr<const tls_context> next) {
    const std::lock_guard lock(mutex_);
    is_.swap(next);  // the previous context is destroyed outside the lock
  }

 private:
  mutable mutex mutex_;
  std::shared_ptr<const tls_context> is_;
};

}  // namespace troupe::http::detail
