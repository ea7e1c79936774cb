// SPDX-License-Identifier: Apache-2.0

#include "tls_context.hpp"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include <troupe/base/clock.hpp>

#include "ticket_keys.hpp"

namespace troupe::http::detail {
namespace {

// Larger files are refused: neither a certificate chain nor a key is longer.
constexpr std::uintmax_t file_bytes_max = 1024 * 1024;

// TLS 1.2 also allows weak ciphers. These agree on a new key for each connection (forward secrecy),
// and use authenticated encryption.
constexpr const char* ciphers_of_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";

template <auto Free>
struct freeing {
  template <class T>
  void operator()(T* what) const noexcept {
    Free(what);
  }
};
using bio = std::unique_ptr<BIO, freeing<BIO_free>>;
using x509 = std::unique_ptr<X509, freeing<X509_free>>;
using private_key = std::unique_ptr<EVP_PKEY, freeing<EVP_PKEY_free>>;

/// A text that is overwritten by its destructor.
struct secret {
  std::string text;
  ~secret() { OPENSSL_cleanse(text.data(), text.size()); }
};

/// The beginning of a message: certificate "a.pem".
std::string named(const char* what, const std::filesystem::path& file) {
  return std::string(what) + " \"" + file.string() + "\"";
}

/// OpenSSL's reason for the failure of the last call.
std::string reason() {
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  return text != nullptr ? text : "OpenSSL reports no reason";
}

std::string text_of(const char* what, const std::filesystem::path& file) {
  const auto fail = [&](const std::string& why) {
    throw tls_error(named(what, file) + " cannot be read: " + why);
  };
  if (file.empty())
    throw tls_error(std::string("no ") + what + " is given: TLS needs a certificate and a key");
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) fail(std::strerror(EISDIR));
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) fail(error.message());
  if (size > file_bytes_max) fail("the file is larger than 1 MiB");
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(std::strerror(errno));
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

bio over(const std::string& text) {
  bio made(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!made) throw std::bad_alloc();
  return made;
}

/// Replaces OpenSSL's prompt on the terminal. `asked` points to a bool.
int no_password(char*, int, int, void* asked) noexcept {
  *static_cast<bool*>(asked) = true;
  return 0;
}

// Distinguishes the end of the file from an error in it.
bool is_at_end() {
  const unsigned long last = ERR_peek_last_error();
  return ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
}

std::string name_of(const X509_NAME* of) {
  const bio into(BIO_new(BIO_s_mem()));
  if (!into) throw std::bad_alloc();
  X509_NAME_print_ex(into.get(), of, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  char* text = nullptr;
  const long size = BIO_get_mem_data(into.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

wall_clock::time_point date_of(const ASN1_TIME* of) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(of, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

tls_certificate described(const X509* of) {
  return {.subject = name_of(X509_get_subject_name(of)),
          .issuer = name_of(X509_get_issuer_name(of)),
          .not_before = date_of(X509_get0_notBefore(of)),
          .not_after = date_of(X509_get0_notAfter(of))};
}

tls_certificate use_certificate(SSL_CTX* in, const std::filesystem::path& file) {
  const std::string text = text_of("certificate", file);
  const bio from = over(text);
  const auto fail = [&](const std::string& why) {
    throw tls_error(named("certificate", file) + " cannot be used: " + why);
  };
  bool asked = false;
  ERR_clear_error();
  const x509 first(PEM_read_bio_X509_AUX(from.get(), nullptr, no_password, &asked));
  if (!first) fail(is_at_end() ? "the file contains no certificate in PEM format" : reason());
  if (SSL_CTX_use_certificate(in, first.get()) != 1) fail(reason());
  for (;;) {
    ERR_clear_error();
    x509 next(PEM_read_bio_X509(from.get(), nullptr, no_password, &asked));
    if (!next) break;
    if (SSL_CTX_add0_chain_cert(in, next.get()) != 1) fail(reason());
    (void)next.release();  // now owned by the context
  }
  if (!is_at_end()) fail(reason());
  ERR_clear_error();
  return described(first.get());
}

void use_key(SSL_CTX* in, const tls_options& files) {
  const secret text{text_of("key", files.key)};
  const bio from = over(text.text);
  const auto fail = [&](const std::string& why) {
    throw tls_error(named("key", files.key) + " cannot be used: " + why);
  };
  bool asked = false;
  ERR_clear_error();
  const private_key key(PEM_read_bio_PrivateKey(from.get(), nullptr, no_password, &asked));
  if (!key) {
    const bool is_one = text.text.find("PRIVATE KEY-----") != std::string::npos;
    fail(asked     ? "it is protected by a password: store it without one"
         : !is_one ? "the file contains no private key in PEM format"
                   : reason());
  }
  if (X509_check_private_key(SSL_CTX_get0_certificate(in), key.get()) != 1) {
    ERR_clear_error();
    throw tls_error(named("key", files.key) + " does not belong to " +
                    named("certificate", files.certificate));
  }
  if (SSL_CTX_use_PrivateKey(in, key.get()) != 1) fail(reason());
}

void free_keys(void*, void* keys, CRYPTO_EX_DATA*, int, long, void*) noexcept {
  delete static_cast<ticket_keys*>(keys);
}

// The index under which an SSL_CTX stores its ticket_keys. It owns them, because connections keep
// it longer than its tls_context.
int place_of_keys() {
  static const int place = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_keys);
  return place;
}

// OpenSSL's own keys for tickets would live as long as the context. This callback is called to
// encrypt or decrypt a ticket. When it decrypts, it returns 0 if the key is unknown, and 2 if the
// client should get a new ticket.
int use_ticket_key(SSL* of, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                   EVP_MAC_CTX* mac, int encrypts) noexcept try {
  auto& keys =
      *static_cast<ticket_keys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(of), place_of_keys()));
  const EVP_CIPHER* const how = EVP_aes_256_cbc();
  ticket_key key;
  int result = 1;
  if (encrypts != 0) {
    key = keys.for_encrypting(clock::now());
    std::copy(key.name.begin(), key.name.end(), name);
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(how)) != 1) return -1;
  } else {
    const auto found = keys.for_decrypting({name, key.name.size()}, clock::now());
    if (!found) return 0;
    key = found->key;
    result = found->is_old ? 2 : 1;
  }
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  const bool done = EVP_MAC_CTX_set_params(mac, parameters) == 1 &&
                    EVP_CipherInit_ex2(cipher, how, key.cipher.data(), iv, encrypts, nullptr) == 1;
  return done ? result : -1;
} catch (const std::exception&) {
  return -1;
}

// A browser offers other protocols too. A client that offers none speaks HTTP/1.1.
int choose_http_1_1(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offers, unsigned offers_size, void*) noexcept {
  static constexpr std::string_view ours = "http/1.1";
  for (unsigned at = 0; at < offers_size; at += 1u + offers[at]) {
    const std::string_view offer(reinterpret_cast<const char*>(offers + at + 1), offers[at]);
    if (offer != ours) continue;
    *chosen = offers + at + 1;
    *size = offers[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

tls_context::tls_context(tls_role role, tls_version least)
    : context_(SSL_CTX_new(role == tls_role::server ? TLS_server_method() : TLS_client_method())),
      role_(role) {
  if (context_ == nullptr) throw tls_error("OpenSSL cannot be used: " + reason());
  SSL_CTX_set_min_proto_version(context_,
                                least == tls_version::v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  // Without this mode, an idle connection would keep two buffers of 17 KB.
  SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Clients keep tickets. Without a ticket, a full handshake follows.
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  if (SSL_CTX_set_cipher_list(context_, ciphers_of_1_2) != 1) {
    const std::string why = reason();
    SSL_CTX_free(context_);
    throw tls_error("OpenSSL supports none of the required ciphers for TLS 1.2: " + why);
  }
}

tls_context::~tls_context() { SSL_CTX_free(context_); }

std::shared_ptr<const tls_context> tls_context::for_server(const tls_options& from) {
  const std::shared_ptr<tls_context> made(new tls_context(tls_role::server, from.min_version));
  made->certificate_ = use_certificate(made->context_, from.certificate);
  use_key(made->context_, from);
  SSL_CTX_set_alpn_select_cb(made->context_, choose_http_1_1, nullptr);
  auto keys = std::make_unique<ticket_keys>();
  if (SSL_CTX_set_ex_data(made->context_, place_of_keys(), keys.get()) != 1) throw std::bad_alloc();
  (void)keys.release();  // now owned by the context
  SSL_CTX_set_tlsext_ticket_key_evp_cb(made->context_, use_ticket_key);
  SSL_CTX_set_timeout(made->context_, std::chrono::seconds(ticket_keys::usual_period).count());
  return made;
}

std::shared_ptr<const tls_context> tls_context::for_client(const tls_trust& whom) {
  const std::shared_ptr<tls_context> made(new tls_context(tls_role::client, whom.min_version));
  ERR_clear_error();
  const bool is_there =
      whom.authorities.empty()
          ? SSL_CTX_set_default_verify_paths(made->context_) == 1
          : SSL_CTX_load_verify_file(made->context_, whom.authorities.c_str()) == 1;
  if (!is_there) {
    throw tls_error(named("certificates", whom.authorities) + " cannot be used: " + reason());
  }
  SSL_CTX_set_verify(made->context_, SSL_VERIFY_PEER, nullptr);
  return made;
}

}  // namespace troupe::http::detail

namespace troupe::http {

namespace {
constexpr std::chrono::hours soon{14 * 24};
}

std::string to_string(const tls_certificate& of) {
  const std::time_t until = std::chrono::system_clock::to_time_t(of.not_after);
  std::tm parts{};
  ::gmtime_r(&until, &parts);
  char date[32];
  const std::size_t size = std::strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return of.subject + ", until " + std::string(date, size);
}

std::string_view expiry_warning(const tls_certificate& of, wall_clock::time_point when) {
  if (when < of.not_before) return "it is not valid yet";
  if (when > of.not_after) return "it has expired";
  if (when > of.not_after - soon) return "it expires within two weeks";
  return {};
}

tls_certificate read_certificate(const tls_options& of) {
  return detail::tls_context::for_server(of)->certificate();
}

}  // namespace troupe::http
