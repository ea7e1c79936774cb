// SPDX-License-Identifier: Apache-2.0
#include "lab/websocket/certificate.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <stdexcept>

namespace troupe::lab {

namespace {

struct freeing {
  void operator()(EVP_PKEY* of) const noexcept { EVP_PKEY_free(of); }
  void operator()(X509* of) const noexcept { X509_free(of); }
  void operator()(BIO* of) const noexcept { BIO_free_all(of); }
};
template <class Made>
using owned = std::unique_ptr<Made, freeing>;

void expect(bool holds) {
  if (!holds) throw std::runtime_error("OpenSSL cannot create a certificate");
}

template <class Write>
std::string text_of(const Write& write) {
  const owned<BIO> out(BIO_new(BIO_s_mem()));
  expect(out != nullptr && write(out.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

certificate make_certificate() {
  const owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const owned<X509> made(X509_new());
  expect(key != nullptr && made != nullptr);
  expect(X509_set_version(made.get(), X509_VERSION_3) == 1);
  expect(ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1) == 1);
  expect(X509_gmtime_adj(X509_getm_notBefore(made.get()), -3'600) != nullptr);
  expect(X509_gmtime_adj(X509_getm_notAfter(made.get()), 24 * 3'600) != nullptr);
  X509_NAME* const name = X509_get_subject_name(made.get());
  const unsigned char host[] = "127.0.0.1";
  expect(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, host, -1, -1, 0) == 1);
  expect(X509_set_issuer_name(made.get(), name) == 1);
  expect(X509_set_pubkey(made.get(), key.get()) == 1);
  expect(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
  return {.chain = text_of([&](BIO* out) { return PEM_write_bio_X509(out, made.get()); }),
          .key = text_of([&](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace troupe::lab
