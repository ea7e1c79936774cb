// SPDX-License-Identifier: Apache-2.0

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "client_test.hpp"
#include "test_certificate.hpp"

namespace troupe::http::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

template <auto Free>
struct freeing {
  template <class T>
  void operator()(T* what) const noexcept {
    Free(what);
  }
};
using key = std::unique_ptr<EVP_PKEY, freeing<EVP_PKEY_free>>;
using certificate = std::unique_ptr<X509, freeing<X509_free>>;
using context = std::unique_ptr<SSL_CTX, freeing<SSL_CTX_free>>;
using tls = std::unique_ptr<SSL, freeing<SSL_free>>;

key make_key() { return key(EVP_EC_gen("P-256")); }

/// A certificate for hosts such as "DNS:localhost,IP:127.0.0.1". Its validity begins and ends this
/// many seconds from now. It is self-signed if there is no issuer.
certificate make_certificate(EVP_PKEY* of, const std::string& name, const std::string& hosts,
                             long from, long until, X509* issuer = nullptr,
                             EVP_PKEY* by = nullptr) {
  static long serial = 1;
  certificate made(X509_new());
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), from);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), until);
  X509_set_pubkey(made.get(), of);
  X509_NAME* const subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), issuer != nullptr ? X509_get_subject_name(issuer) : subject);
  const auto extend = [&](int what, const std::string& value) {
    X509V3_CTX with;
    X509V3_set_ctx(&with, issuer != nullptr ? issuer : made.get(), made.get(), nullptr, nullptr, 0);
    X509_EXTENSION* const one = X509V3_EXT_conf_nid(nullptr, &with, what, value.c_str());
    X509_add_ext(made.get(), one, -1);
    X509_EXTENSION_free(one);
  };
  extend(NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!hosts.empty()) extend(NID_subject_alt_name, hosts);
  X509_sign(made.get(), by != nullptr ? by : of, EVP_sha256());
  return made;
}

constexpr long day = 86'400;

/// An authority that the client trusts, and servers with certificates that it has issued.
class tls_client : public asking_client {
 protected:
  tls_client()
      : authority_key_(make_key()),
        authority_(make_certificate(authority_key_.get(), "Test Authority", "", -day, day)) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL may write to closed sockets
    trusted_ = folder_.write("authority.pem", std::string());
    std::FILE* const file = std::fopen(trusted_.c_str(), "w");
    PEM_write_X509(file, authority_.get());
    std::fclose(file);
    options_.trusted_certificates = trusted_;
  }

  context of_hosts(const std::string& hosts, long from = -day, long until = day) {
    const key its = make_key();
    const certificate made = make_certificate(its.get(), "A Server", hosts, from, until,
                                              authority_.get(), authority_key_.get());
    return with(its.get(), made.get());
  }
  static context with(EVP_PKEY* its, X509* made) {
    context result(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate(result.get(), made);
    SSL_CTX_use_PrivateKey(result.get(), its);
    return result;
  }

  /// A server that does the handshake, reads a request and replies, with or without a close_notify.
  static raw_server::serving answering(SSL_CTX* by, const std::string& text,
                                       bool says_goodbye = true) {
    return [by, text, says_goodbye](raw_client& peer, int) {
      const tls its(SSL_new(by));
      SSL_set_fd(its.get(), peer.fd());
      if (SSL_accept(its.get()) != 1) return;
      std::string asked;
      char some[4096];
      while (asked.find("\r\n\r\n") == std::string::npos) {
        const int got = SSL_read(its.get(), some, sizeof some);
        if (got <= 0) return;
        asked.append(some, static_cast<std::size_t>(got));
      }
      SSL_write(its.get(), text.data(), static_cast<int>(text.size()));
      if (says_goodbye) SSL_shutdown(its.get());
      peer.half_close();
      peer.read_to_end();
    };
  }
  static std::string to(const raw_server& server, const std::string& host) {
    return "https://" + host + ":" + std::to_string(server.port()) + "/";
  }

  const std::string ok_ = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
  const key authority_key_;
  const certificate authority_;
  test::certificate_folder folder_;
  std::filesystem::path trusted_;
};

TEST_F(tls_client, trusts_a_host_named_in_a_trusted_certificate) {
  const context its = of_hosts("DNS:localhost,IP:127.0.0.1");
  raw_server server(answering(its.get(), ok_));
  const fetched by_name = get(to(server, "localhost"));
  ASSERT_TRUE(by_name) << error_text(by_name);
  EXPECT_EQ(by_name.body, "secret");
  EXPECT_EQ(get(to(server, "127.0.0.1")).body, "secret");
}

TEST_F(tls_client, does_not_believe_another_host) {
  const context its = of_hosts("DNS:example.org");
  raw_server server(answering(its.get(), ok_));
  EXPECT_EQ(error_text(get(to(server, "localhost"))),
            "tls: the TLS handshake with localhost failed: its certificate is not trusted: "
            "hostname mismatch");
  EXPECT_EQ(error_text(get(to(server, "127.0.0.1"))),
            "tls: the TLS handshake with 127.0.0.1 failed: its certificate is not trusted: IP "
            "address mismatch");
  EXPECT_EQ(counts().answered, 0u);
}

TEST_F(tls_client, rejects_a_self_signed_certificate) {
  const key its = make_key();
  const certificate made = make_certificate(its.get(), "Mallory", "DNS:localhost", -day, day);
  const context with_it = with(its.get(), made.get());
  raw_server server(answering(with_it.get(), ok_));
  EXPECT_THAT(
      error_text(get(to(server, "localhost"))),
      StartsWith(
          "tls: the TLS handshake with localhost failed: its certificate is not trusted: self"));
}

TEST_F(tls_client, trusts_only_the_system_authorities_by_default) {
  options_.trusted_certificates.clear();
  const context its = of_hosts("DNS:localhost");
  raw_server server(answering(its.get(), ok_));
  EXPECT_THAT(error_text(get(to(server, "localhost"))),
              HasSubstr("its certificate is not trusted: unable to get local issuer"));
}

TEST_F(tls_client, rejects_a_certificate_that_is_expired_or_not_yet_valid) {
  const context was = of_hosts("DNS:localhost", -2 * day, -day);
  raw_server old(answering(was.get(), ok_));
  EXPECT_EQ(error_text(get(to(old, "localhost"))),
            "tls: the TLS handshake with localhost failed: its certificate is not trusted: "
            "certificate has expired");
  const context will_be = of_hosts("DNS:localhost", day, 2 * day);
  raw_server early(answering(will_be.get(), ok_));
  EXPECT_THAT(error_text(get(to(early, "localhost"))), HasSubstr("certificate is not yet valid"));
}

TEST_F(tls_client, takes_no_old_TLS) {
  const context its = of_hosts("DNS:localhost");
  SSL_CTX_set_security_level(its.get(), 0);
  SSL_CTX_set_min_proto_version(its.get(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(its.get(), TLS1_1_VERSION);
  raw_server server(answering(its.get(), ok_));
  EXPECT_EQ(get(to(server, "localhost")).error, client_error::tls);
}

TEST_F(tls_client, says_that_there_is_no_TLS) {
  raw_server plain([](raw_client& peer, int) {
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.half_close();
    peer.read_to_end();
  });
  EXPECT_THAT(error_text(get(to(plain, "localhost"))),
              StartsWith("tls: the TLS handshake with localhost failed: "));
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  fetch what;
  what.url = to(silent, "localhost");
  what.timeout = 1s;  // the time for connecting
  EXPECT_EQ(error_text(get(what)), "timeout: localhost did not complete the TLS handshake in time");
}

// A third party could have cut the connection.
TEST_F(tls_client, a_response_cut_without_close_notify_is_incomplete) {
  const context its = of_hosts("DNS:localhost");
  const std::string to_the_end = "HTTP/1.0 200 OK\r\n\r\nsecret";
  raw_server said(answering(its.get(), to_the_end, true));
  EXPECT_EQ(get(to(said, "localhost")).body, "secret");
  raw_server cut(answering(its.get(), to_the_end, false));
  EXPECT_THAT(error_text(get(to(cut, "localhost"))),
              StartsWith("closed: the connection ended before the response was complete"));
}

TEST_F(tls_client, follows_no_redirect_out_of_TLS) {
  const context its = of_hosts("DNS:localhost");
  raw_server server(answering(its.get(),
                              "HTTP/1.1 302 Found\r\nLocation: http://localhost/\r\n"
                              "Content-Length: 0\r\n\r\n"));
  fetch what;
  what.url = to(server, "localhost");
  what.redirects = 3;
  EXPECT_THAT(error_text(get(what)),
              StartsWith("redirects: a redirect leads from https to http://"));
}

class counting : public actor {
 public:
  counting(http::websocket, std::shared_ptr<diary> log) : log_(std::move(log)) {}
  void on(const http::text& m) { log_->write(m.data); }
  void on(const http::closed& m) { log_->write("closed " + std::to_string(m.code)); }

 private:
  std::shared_ptr<diary> log_;
};

TEST_F(tls_client, connects_a_WebSocket) {
  const context its = of_hosts("DNS:localhost");
  raw_server server([&](raw_client& peer, int) {
    const tls over(SSL_new(its.get()));
    SSL_set_fd(over.get(), peer.fd());
    if (SSL_accept(over.get()) != 1) return;
    std::string asked;
    char some[4096];
    const auto read = [&] {
      const int got = SSL_read(over.get(), some, sizeof some);
      if (got > 0) asked.append(some, static_cast<std::size_t>(got));
      return got > 0;
    };
    while (asked.find("\r\n\r\n") == std::string::npos && read()) {
    }
    constexpr std::string_view name = "Sec-WebSocket-Key: ";
    const std::string answer =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: " +
        detail::websocket_accept(asked.substr(asked.find(name) + name.size(), 24)) + "\r\n\r\n" +
        raw_client::frame(raw_client::text, "welcome", true, 0, false);
    SSL_write(over.get(), answer.data(), static_cast<int>(answer.size()));
    asked.clear();
    while (asked.size() < 2 + 4 + 5 && read()) {
    }
    for (std::size_t i = 0; i < 5; ++i)
      asked[6 + i] = static_cast<char>(asked[6 + i] ^ asked[2 + i % 4]);
    const std::string back = raw_client::frame(raw_client::text, asked.substr(6), true, 0, false);
    SSL_write(over.get(), back.data(), static_cast<int>(back.size()));
  });
  const auto log = std::make_shared<diary>();
  connect_websocket what("wss://localhost:" + std::to_string(server.port()) + "/",
                         served_by<counting>(system_, log));
  const connected got = its_answer(std::move(what));
  ASSERT_TRUE(got) << error_text(got);
  got.socket.send("hello");
  EXPECT_THAT(log->lines(3), testing::ElementsAre("welcome", "hello", "closed 1006"));
}

TEST_F(tls_client, connects_no_WebSocket_to_another_host) {
  const context its = of_hosts("DNS:example.org");
  raw_server server(answering(its.get(), ok_));
  connect_websocket what("wss://localhost:" + std::to_string(server.port()) + "/",
                         served_by<counting>(system_, std::make_shared<diary>()));
  EXPECT_EQ(error_text(its_answer(std::move(what))),
            "tls: the TLS handshake with localhost failed: its certificate is not trusted: "
            "hostname mismatch");
}

}  // namespace
}  // namespace troupe::http::test
