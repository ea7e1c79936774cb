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

/// What OpenSSL does not name. Other values of the category are OpenSSL's own numbers.
enum class tls_errc : int {
  truncated = 1,  // the other has closed the socket without saying that this is the end
  plain_text,     // what came is no TLS, but perhaps HTTP
};
[[nodiscard]] const boost::system::error_category& tls_category() noexcept;
[[nodiscard]] inline net::error_code make_error_code(tls_errc what) noexcept {
  return {static_cast<int>(what), tls_category()};
}

/// One end of a TLS connection, by OpenSSL: from ciphertext to plaintext and back. It knows nothing of sockets:
/// what comes is given to it in any pieces, and what is to be sent is taken out of output().
///
/// Reading and writing do not wait for each other. Nothing is kept between two calls but a record that is not
/// whole yet, for which OpenSSL has 17 KB; and the output.
///
/// Threads:   one at a time. Contexts are shared.
/// Invariant: after `failed` there is nothing but output(), which may have an alert for the other end.
/// Errors:    std::bad_alloc in the constructor; later that is a failure of the connection.
class tls_engine {
 public:
  enum class outcome : std::uint8_t {
    done,
    needs_input,
    closed,  // the other end has said that nothing more comes
    failed   // see error()
  };
  /// Why a handshake has failed, as far as it is of interest.
  enum class failure : std::uint8_t { other, plain_text, version, alert };

  /// `name`: of a client's server, which its certificate is to have; an address or a name.
  explicit tls_engine(std::shared_ptr<const tls_context> by, const std::string& name = {});
  tls_engine(const tls_engine&) = delete;
  tls_engine& operator=(const tls_engine&) = delete;
  ~tls_engine();

  /// Goes on with the handshake until that is `done`, and uses up `in` from its front. Nothing else comes before.
  [[nodiscard]] outcome handshake(std::span<char>& in);
  [[nodiscard]] bool is_established() const noexcept { return is_established_; }
  /// Without the other's certificate, since both have met before.
  [[nodiscard]] bool is_resumed() const noexcept;

  /// Fills `into` with what `in` has. `done` with bytes; else none.
  ///
  /// What is left of `in` comes first in the next call.
  [[nodiscard]] outcome read(std::span<char>& in, std::span<char> into, std::size_t& bytes);

  /// False if that has failed.
  [[nodiscard]] bool write(std::string_view plaintext);

  /// Says that nothing more will be written. What comes can still be read.
  void close() noexcept;

  /// What is to be sent. To be emptied by who sends it.
  [[nodiscard]] std::string& output() noexcept { return output_; }

  [[nodiscard]] net::error_code error() const noexcept { return error_; }
  [[nodiscard]] failure why() const noexcept { return why_; }
  /// "TLSv1.3"
  [[nodiscard]] std::string_view version() const noexcept;
  /// "http/1.1", or nothing if the client has not asked.
  [[nodiscard]] std::string_view protocol() const noexcept;

 private:
  struct in_and_out;

  outcome outcome_of(int result);
  outcome fail();

  const std::shared_ptr<const tls_context> by_;  // ends behind ssl_
  SSL* ssl_ = nullptr;
  std::span<char>* in_ = nullptr;  // during a call
  std::string output_;
  net::error_code error_;
  failure why_ = failure::other;
  bool has_begun_ = false;  // something has come
  bool is_established_ = false;
  bool has_closed_ = false;
};

}  // namespace troupe::http::detail
