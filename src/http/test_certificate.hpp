// SPDX-License-Identifier: Apache-2.0
#pragma once

// For tests: a directory, and certificates that are created on demand.

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <troupe/http/tls.hpp>

namespace troupe::http::test {

struct certificate_wish {
  std::string name = "localhost";  // also valid for 127.0.0.1
  bool is_rsa = false;
  long days_from = -1;  // from now
  long days_to = 1;
  std::string password = {};  // of the key
};

/// A self-signed certificate and its key.
class test_certificate {
 public:
  explicit test_certificate(const certificate_wish& wish = {}) : key_(make_key(wish.is_rsa)) {
    const x509 made(X509_new());
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), wish.days_from * 24 * 3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), wish.days_to * 24 * 3600);
    X509_set_pubkey(made.get(), key_.get());
    X509_NAME* const name = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(wish.name.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(made.get(), name);
    extend(made.get(), NID_subject_alt_name, "DNS:" + wish.name + ",IP:127.0.0.1");
    extend(made.get(), NID_basic_constraints, "critical,CA:TRUE");
    check(X509_sign(made.get(), key_.get(), EVP_sha256()) > 0);
    certificate = in_pem([&](BIO* to) { return PEM_write_bio_X509(to, made.get()); });
    key = in_pem([&](BIO* to) {
      const auto* const secret = reinterpret_cast<const unsigned char*>(wish.password.data());
      return PEM_write_bio_PrivateKey(to, key_.get(),
                                      wish.password.empty() ? nullptr : EVP_aes_128_cbc(), secret,
                                      static_cast<int>(wish.password.size()), nullptr, nullptr);
    });
  }

  std::string certificate, key;  // in PEM

 private:
  template <auto Free>
  struct freeing {
    template <class T>
    void operator()(T* what) const noexcept {
      Free(what);
    }
  };
  using x509 = std::unique_ptr<X509, freeing<X509_free>>;
  using private_key = std::unique_ptr<EVP_PKEY, freeing<EVP_PKEY_free>>;

  static void check(bool is) {
    if (!is) throw std::runtime_error("OpenSSL makes no certificate");
  }
  static private_key make_key(bool is_rsa) {
    private_key made(is_rsa ? EVP_RSA_gen(2048u) : EVP_EC_gen("P-256"));
    check(made != nullptr);
    return made;
  }
  static void extend(X509* what, int with, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, what, what, nullptr, nullptr, 0);
    X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, with, value.c_str());
    check(made != nullptr);
    X509_add_ext(what, made, -1);
    X509_EXTENSION_free(made);
  }
  template <class Write>
  static std::string in_pem(const Write& write) {
    const std::unique_ptr<BIO, freeing<BIO_free>> to(BIO_new(BIO_s_mem()));
    check(write(to.get()) == 1);
    char* text = nullptr;
    const long size = BIO_get_mem_data(to.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }

  private_key key_;
};

/// A directory with certificates, which is removed with this object.
class certificate_folder {
 public:
  certificate_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "troupe-tls-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::system_category(), "mkdtemp");
    }
    path_ = name;
  }
  certificate_folder(const certificate_folder&) = delete;
  certificate_folder& operator=(const certificate_folder&) = delete;
  ~certificate_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path write(const std::string& name,
                                            const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }
  /// NAME.pem and NAME.key
  [[nodiscard]] tls_options write(const std::string& name, const test_certificate& what) const {
    return {.certificate = write(name + ".pem", what.certificate),
            .key = write(name + ".key", what.key)};
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace troupe::http::test
