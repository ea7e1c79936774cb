// SPDX-License-Identifier: Apache-2.0

#include "tls_engine.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstring>
#include <new>
#include <utility>

#include <troupe/base/assert.hpp>

namespace troupe::http::detail {
namespace {

class category final : public boost::system::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "tls"; }
  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<tls_errc>(value)) {
      case tls_errc::truncated:
        return "the connection ended without a TLS close_notify alert";
      case tls_errc::plain_text:
        return "the peer does not speak TLS";
    }
    const char* const text = ERR_reason_error_string(static_cast<unsigned long>(value));
    return std::string("TLS: ") + (text != nullptr ? text : "failed");
  }
};

// A record begins with its type, 20 to 23; an SSL 2.0 hello begins with a byte above 127. A capital
// letter begins the method of an HTTP request.
bool is_plain_text(std::span<const char> in) noexcept {
  return !in.empty() && in.front() >= 'A' && in.front() <= 'Z';
}

tls_engine::failure failure_of(unsigned long error) noexcept {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return tls_engine::failure::other;
  switch (const int reason = ERR_GET_REASON(error)) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return tls_engine::failure::version;
    default:
      return reason >= SSL_AD_REASON_OFFSET ? tls_engine::failure::alert
                                            : tls_engine::failure::other;
  }
}

struct freeing {
  void operator()(SSL* what) const noexcept { SSL_free(what); }
  void operator()(BIO_METHOD* what) const noexcept { BIO_meth_free(what); }
};

}  // namespace

const boost::system::error_category& tls_category() noexcept {
  static const category the;
  return the;
}

/// The functions that OpenSSL calls to read and write: a BIO over `in_` and `output_`.
struct tls_engine::in_and_out {
  static tls_engine& of(BIO* bio) noexcept { return *static_cast<tls_engine*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* into, std::size_t size, std::size_t* bytes) noexcept {
    BIO_clear_retry_flags(bio);
    std::span<char>* const in = of(bio).in_;
    *bytes = in == nullptr ? 0 : std::min(size, in->size());
    if (*bytes == 0) {
      BIO_set_retry_read(bio);
      return 0;
    }
    std::memcpy(into, in->data(), *bytes);
    *in = in->subspan(*bytes);
    return 1;
  }

  static int write(BIO* bio, const char* from, std::size_t size, std::size_t* bytes) noexcept {
    BIO_clear_retry_flags(bio);
    *bytes = 0;
    try {
      of(bio).output_.append(from, size);
    } catch (const std::bad_alloc&) {
      return 0;
    }
    *bytes = size;
    return 1;
  }

  static long control(BIO*, int what, long, void*) noexcept { return what == BIO_CTRL_FLUSH; }

  static int create(BIO* bio) noexcept {
    BIO_set_init(bio, 1);
    return 1;
  }

  using method = std::unique_ptr<BIO_METHOD, freeing>;

  static method make() {
    method made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "troupe"));
    if (!made) throw std::bad_alloc();
    BIO_meth_set_read_ex(made.get(), read);
    BIO_meth_set_write_ex(made.get(), write);
    BIO_meth_set_ctrl(made.get(), control);
    BIO_meth_set_create(made.get(), create);
    return made;
  }

  static BIO* between(tls_engine& engine) {
    static const method how = make();
    BIO* const made = BIO_new(how.get());
    if (made == nullptr) throw std::bad_alloc();
    BIO_set_data(made, &engine);
    return made;
  }
};

tls_engine::tls_engine(std::shared_ptr<const tls_context> by, const std::string& name)
    : by_(std::move(by)) {
  std::unique_ptr<SSL, freeing> guarded(SSL_new(by_->get()));
  SSL* const ssl = guarded.get();
  if (ssl == nullptr) throw std::bad_alloc();
  BIO* const bio = in_and_out::between(*this);
  SSL_set_bio(ssl, bio, bio);
  if (by_->role() == tls_role::server) {
    SSL_set_accept_state(ssl);
  } else {
    SSL_set_connect_state(ssl);
    boost::system::error_code error;
    (void)boost::asio::ip::make_address(name, error);
    const bool is_set = error
                            ? SSL_set_tlsext_host_name(ssl, name.c_str()) == 1 &&
                                  SSL_set1_host(ssl, name.c_str()) == 1
                            : X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
    if (name.empty() || !is_set) {
      throw tls_error("\"" + name + "\" is not a valid server name for TLS");
    }
  }
  ssl_ = guarded.release();
}

tls_engine::~tls_engine() { SSL_free(ssl_); }

tls_engine::outcome tls_engine::handshake(std::span<char>& in) {
  TROUPE_EXPECTS(!is_established_ && !error_, "the handshake is made only once");
  if (!std::exchange(has_begun_, !in.empty() || has_begun_) && by_->role() == tls_role::server &&
      is_plain_text(in)) {
    why_ = failure::plain_text;
    error_ = make_error_code(tls_errc::plain_text);
    return outcome::failed;
  }
  in_ = &in;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  const outcome what = result == 1 ? outcome::done : outcome_of(result);
  in_ = nullptr;
  is_established_ = what == outcome::done;
  return what;
}

bool tls_engine::is_resumed() const noexcept { return SSL_session_reused(ssl_) == 1; }

tls_engine::outcome tls_engine::read(std::span<char>& in, std::span<char> into,
                                     std::size_t& bytes) {
  TROUPE_EXPECTS(is_established_, "nothing is read before the handshake");
  bytes = 0;
  if (error_) return outcome::failed;
  in_ = &in;
  outcome what = outcome::done;
  while (bytes != into.size() && what == outcome::done) {
    // Without this check, each call without input would make OpenSSL allocate a buffer first.
    if (in.empty() && SSL_has_pending(ssl_) == 0) {
      const bool has_ended = (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0;
      what = has_ended ? outcome::closed : outcome::needs_input;
      break;
    }
    ERR_clear_error();
    std::size_t got = 0;
    const int result = SSL_read_ex(ssl_, into.data() + bytes, into.size() - bytes, &got);
    bytes += got;
    if (result != 1) what = outcome_of(result);
  }
  in_ = nullptr;
  // Any other outcome is found again by the next call.
  return bytes > 0 ? outcome::done : what;
}

bool tls_engine::write(std::string_view plaintext) {
  TROUPE_EXPECTS(is_established_, "nothing is written before the handshake");
  while (!plaintext.empty() && !error_) {
    ERR_clear_error();
    std::size_t taken = 0;
    if (SSL_write_ex(ssl_, plaintext.data(), plaintext.size(), &taken) != 1) fail();
    plaintext.remove_prefix(taken);
  }
  return !error_;
}

void tls_engine::close() noexcept {
  if (!is_established_ || error_ || has_closed_) return;
  has_closed_ = true;
  ERR_clear_error();
  (void)SSL_shutdown(ssl_);  // only writes to memory; if it fails, nothing is written
  ERR_clear_error();
}

std::string_view tls_engine::version() const noexcept { return SSL_get_version(ssl_); }

std::string_view tls_engine::protocol() const noexcept {
  const unsigned char* text = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_, &text, &size);
  return {reinterpret_cast<const char*>(text), size};
}

tls_engine::outcome tls_engine::outcome_of(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return outcome::needs_input;
    case SSL_ERROR_ZERO_RETURN:
      return outcome::closed;
    default:
      return fail();
  }
}

tls_engine::outcome tls_engine::fail() {
  const unsigned long error = ERR_peek_error();
  why_ = failure_of(error);
  // If OpenSSL reports no error, allocating memory for output() has failed.
  error_ = error != 0 ? net::error_code(static_cast<int>(error), tls_category())
                      : net::error_code(boost::asio::error::no_memory);
  ERR_clear_error();
  return outcome::failed;
}

}  // namespace troupe::http::detail
