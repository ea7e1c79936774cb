// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <troupe/net/socket.hpp>

#include "tls_context.hpp"

namespace troupe::http::detail {

/// Errors for which OpenSSL has no number. Other values of the category are OpenSSL's own.
enum class tls_errc : int {
  truncated = 1,  // the peer has closed the socket without announcing the end
  plain_text,     // the data is not TLS, but perhaps HTTP
};
[[nodiscard]] const boost::system::error_category& tls_category() noexcept;
[[nodiscard]] inline net::error_code make_error_code(tls_errc what) noexcept {
  return {static_cast<int>(what), tls_category()};
}

/// One end of a TLS connection, by OpenSSL: from ciphertext to plaintext and back. It knows nothing
/// of sockets: it gets ciphertext in any pieces, and leaves ciphertext for sending in output().
///
/// Reading and writing do not wait for each other. Between calls it keeps only an incomplete
/// record, for which OpenSSL needs 17 KB, and the output.
///
/// Threads:   one at a time. Contexts are shared.
/// Invariant: after `failed` only output() is useful. It may contain an alert for the other end.
/// Errors:    std::bad_alloc in the constructor. Later, a failed allocation fails the connection.
class tls_engine {
 public:
  enum class outcome : std::uint8_t {
    done,
    needs_input,
    closed,  // the other end has announced the end of its data
    failed   // see error()
  };
  /// Why a handshake has failed, as far as callers distinguish the reasons.
  enum class failure : std::uint8_t { other, plain_text, version, alert };

  /// `name` is for a client: the address or name that the server's certificate must contain.
  explicit tls_engine(std::shared_ptr<const tls_context> by, const std::string& name = {});
  tls_engine(const tls_engine&) = delete;
  tls_engine& operator=(const tls_engine&) = delete;
  ~tls_engine();

  /// Continues the handshake until the result is `done`, and uses up `in` from its front. It must
  /// complete before any other operation.
  [[nodiscard]] outcome handshake(std::span<char>& in);
  [[nodiscard]] bool is_established() const noexcept { return is_established_; }
  /// The session was resumed, so no certificate was sent.
  [[nodiscard]] bool is_resumed() const noexcept;

  /// Fills `into` with plaintext from `in`. If the result is `done`, `bytes` is positive; otherwise
  /// it is 0.
  ///
  /// The rest of `in` must come first in the next call.
  [[nodiscard]] outcome read(std::span<char>& in, std::span<char> into, std::size_t& bytes);

  /// Returns false on failure.
  [[nodiscard]] bool write(std::string_view plaintext);

  /// Announces that nothing more will be written. Incoming data can still be read.
  void close() noexcept;

  /// The bytes to send. The sender empties it.
  [[nodiscard]] std::string& output() noexcept { return output_; }

  [[nodiscard]] net::error_code error() const noexcept { return error_; }
  [[nodiscard]] failure why() const noexcept { return why_; }
  /// "TLSv1.3"
  [[nodiscard]] std::string_view version() const noexcept;
  /// "http/1.1", or empty if the client has not asked for a protocol.
  [[nodiscard]] std::string_view protocol() const noexcept;

 private:
  struct in_and_out;

  outcome outcome_of(int result);
  outcome fail();

  const std::shared_ptr<const tls_context> by_;  // destroyed after ssl_
  SSL* ssl_ = nullptr;
  std::span<char>* in_ = nullptr;  // only during a call
  std::string output_;
  net::error_code error_;
  failure why_ = failure::other;
  bool has_begun_ = false;  // data has arrived
  bool is_established_ = false;
  bool has_closed_ = false;
};

}  // namespace troupe::http::detail
