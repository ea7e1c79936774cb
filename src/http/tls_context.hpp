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

/// Whom a client believes.
struct tls_trust {
  /// In PEM; empty: those that the system trusts.
  std::filesystem::path authorities = {};
  tls_version min_version = tls_version::v1_2;
};

/// What all TLS connections of one kind share: certificate and key, or whom to trust, and what may be spoken.
///
/// Threads: any; it does not change, but for the keys of a server's tickets, which are replaced by
///          themselves.
class tls_context {
 public:
  /// Errors: tls_error that names the file.
  [[nodiscard]] static std::shared_ptr<const tls_context> for_server(const tls_options& from);
  [[nodiscard]] static std::shared_ptr<const tls_context> for_client(const tls_trust& whom);

  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;
  ~tls_context();

  /// OpenSSL counts references in it and locks it itself.
  [[nodiscard]] SSL_CTX* get() const noexcept { return context_; }
  [[nodiscard]] tls_role role() const noexcept { return role_; }
  /// Of a server.
  [[nodiscard]] const tls_certificate& certificate() const noexcept { return certificate_; }

 private:
  tls_context(tls_role role, tls_version least);

  SSL_CTX* context_;
  const tls_role role_;
  tls_certificate certificate_{};
};

/// That for new connections, which may be renewed while others live on with the one before.
///
/// Threads: any.
class current_tls {
 public:
  /// Null: connections are not secured.
  [[nodiscard]] std::shared_ptr<const tls_context> get() const {
    const std::lock_guard lock(mutex_);
    return is_;
  }
  void set(std::shared_ptr<const tls_context> next) {
    const std::lock_guard lock(mutex_);
    is_.swap(next);  // the one before ends behind the lock
  }

 private:
  mutable mutex mutex_;
  std::shared_ptr<const tls_context> is_;
};

}  // namespace troupe::http::detail
