// SPDX-License-Identifier: Apache-2.0

#include "tls_context.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <string>

#include "test_certificate.hpp"

namespace troupe::http::detail {
namespace {

using test::certificate_folder;
using test::test_certificate;
using testing::HasSubstr;

class certificates : public testing::Test {
 protected:
  /// The error for these two files, without the name of the directory.
  std::string wrong(const tls_options& files) const {
    try {
      (void)tls_context::for_server(files);
      return "nothing";
    } catch (const tls_error& e) {
      std::string text = e.what();
      const std::string before = folder_.path().string() + "/";
      for (std::size_t at; (at = text.find(before)) != std::string::npos;) {
        text.erase(at, before.size());
      }
      return text;
    }
  }

  const certificate_folder folder_;
  const test_certificate one_;
  const tls_options good_ = folder_.write("one", one_);
};

TEST_F(certificates, a_pair_that_fits_is_taken_and_described) {
  const auto made = tls_context::for_server(good_);
  EXPECT_EQ(made->certificate().subject, "CN=localhost");
  EXPECT_EQ(made->certificate().issuer, "CN=localhost");
  EXPECT_EQ(
      expiry_warning(made->certificate(), made->certificate().not_before - std::chrono::hours{1}),
      "it is not valid yet");
  EXPECT_EQ(expiry_warning(made->certificate(), wall_clock::now()), "it expires within two weeks");
  EXPECT_EQ(expiry_warning(made->certificate(), wall_clock::now() + std::chrono::hours{25}),
            "it has expired");
}

TEST_F(certificates, rsa_is_as_good) {
  const test_certificate rsa({.name = "rsa.example", .is_rsa = true, .days_to = 365});
  const tls_certificate is = read_certificate(folder_.write("rsa", rsa));
  EXPECT_EQ(is.subject, "CN=rsa.example");
  EXPECT_EQ(expiry_warning(is, wall_clock::now()), "");
  EXPECT_THAT(to_string(is),
              testing::MatchesRegex("CN=rsa.example, until 20..-..-.. ..:..:.. UTC"));
}

TEST_F(certificates, intermediate_certificates_in_the_file_are_loaded) {
  const test_certificate other({.name = "other"});
  tls_options files = good_;
  files.certificate = folder_.write("chain.pem", one_.certificate + other.certificate);
  const auto made = tls_context::for_server(files);
  STACK_OF(X509)* chain = nullptr;
  ASSERT_EQ(SSL_CTX_get0_chain_certs(made->get(), &chain), 1);
  EXPECT_EQ(sk_X509_num(chain), 1);
}

TEST_F(certificates, an_expired_certificate_is_accepted_with_a_warning) {
  const test_certificate old({.days_from = -10, .days_to = -1});
  EXPECT_EQ(expiry_warning(read_certificate(folder_.write("old", old)), wall_clock::now()),
            "it has expired");
}

TEST_F(certificates, errors_name_the_file_and_the_reason) {
  const test_certificate other, locked({.password = "secret"});
  const auto with = [&](const std::string& certificate, const std::string& key) {
    return tls_options{.certificate = folder_.path() / certificate, .key = folder_.path() / key};
  };
  (void)folder_.write("other", other);
  (void)folder_.write("locked", locked);
  (void)folder_.write("empty", "");
  (void)folder_.write("long", std::string(1024 * 1024 + 1, 'x'));
  std::string broken = one_.certificate;
  broken.replace(40, 4, "!!!!");
  (void)folder_.write("broken.pem", broken);
  (void)folder_.write("half.pem", one_.certificate + broken);

  EXPECT_EQ(wrong(with("one.pem", "other.key")),
            "key \"other.key\" does not belong to certificate \"one.pem\"");
  EXPECT_EQ(wrong(with("none", "one.key")),
            "certificate \"none\" cannot be read: No such file or directory");
  EXPECT_EQ(wrong(with("one.pem", "none")),
            "key \"none\" cannot be read: No such file or directory");
  EXPECT_THAT(wrong(with("one.pem", "")), HasSubstr("cannot be read: Is a directory"));
  EXPECT_EQ(wrong(with("empty", "one.key")),
            "certificate \"empty\" cannot be used: the file contains no certificate in PEM format");
  EXPECT_EQ(
      wrong(with("one.key", "one.key")),
      "certificate \"one.key\" cannot be used: the file contains no certificate in PEM format");
  EXPECT_EQ(wrong(with("one.pem", "one.pem")),
            "key \"one.pem\" cannot be used: the file contains no private key in PEM format");
  EXPECT_THAT(wrong(with("broken.pem", "one.key")), HasSubstr("\"broken.pem\" cannot be used: "));
  EXPECT_THAT(wrong(with("half.pem", "one.key")), HasSubstr("\"half.pem\" cannot be used: "));
  EXPECT_EQ(wrong(with("long", "one.key")),
            "certificate \"long\" cannot be read: the file is larger than 1 MiB");
  EXPECT_EQ(wrong(with("one.pem", "locked.key")),
            "key \"locked.key\" cannot be used: it is protected by a password: store it without "
            "one");
  EXPECT_EQ(wrong({.certificate = good_.certificate}),
            "no key is given: TLS needs a certificate and a key");
  EXPECT_EQ(wrong({.key = good_.key}),
            "no certificate is given: TLS needs a certificate and a key");
}

TEST_F(certificates, invalid_files_of_authorities_are_refused) {
  EXPECT_NO_THROW((void)tls_context::for_client({.authorities = good_.certificate}));
  EXPECT_NO_THROW((void)tls_context::for_client({}));
  EXPECT_THROW((void)tls_context::for_client({.authorities = folder_.path() / "none"}), tls_error);
  EXPECT_THROW((void)tls_context::for_client({.authorities = good_.key}), tls_error);
}

TEST(current_tls, holders_of_the_previous_context_keep_it) {
  const certificate_folder folder;
  const tls_options files = folder.write("one", test_certificate{});
  current_tls current;
  EXPECT_EQ(current.get(), nullptr);
  current.set(tls_context::for_server(files));
  const auto before = current.get();
  current.set(tls_context::for_server(files));
  EXPECT_NE(current.get(), before);
  EXPECT_EQ(before.use_count(), 1);
}

}  // namespace
}  // namespace troupe::http::detail
