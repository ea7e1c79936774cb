// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace troupe::lab {

struct ssl_freeing {
  void operator()(SSL* of) const noexcept { SSL_free(of); }
  void operator()(SSL_CTX* of) const noexcept { SSL_CTX_free(of); }
};
using client_context = std::unique_ptr<SSL_CTX, ssl_freeing>;

/// For clients that accept any certificate, because the server that they measure is a child of this
/// process.
[[nodiscard]] client_context make_client_context();

/// A client's TCP connection to this host, with TLS or without.
///
/// Threads: one.
/// Errors:  std::runtime_error if it cannot be made, or has ended.
class wire {
 public:
  /// Connects, and performs the TLS handshake if there is a context. It blocks until
  /// stop_blocking().
  wire(std::uint16_t port, SSL_CTX* context);
  wire(wire&& other) noexcept;
  wire& operator=(wire&&) = delete;
  ~wire();

  int descriptor() const { return socket_; }
  void stop_blocking();

  /// Returns the number of bytes that were read; 0 if none were available.
  std::size_t read(std::span<char> into);
  /// Returns the number of bytes that were accepted.
  std::size_t write(std::string_view bytes);

  /// Whether more data may be available although the socket has none.
  bool keeps_what_was_read() const { return ssl_ != nullptr; }

 private:
  std::size_t outcome_of(int result, const char* doing) const;

  int socket_;
  std::unique_ptr<SSL, ssl_freeing> ssl_;
};

}  // namespace troupe::lab
