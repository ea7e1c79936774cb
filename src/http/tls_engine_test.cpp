// SPDX-License-Identifier: Apache-2.0

#include "tls_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <troupe/sim/simulation.hpp>

#include "test_certificate.hpp"
#include "ticket_keys.hpp"

namespace troupe::http::detail {
namespace {

using outcome = tls_engine::outcome;
using test::certificate_folder;
using test::test_certificate;

/// One end, with the bytes it was sent and the text it has read.
class end {
 public:
  explicit end(const std::shared_ptr<const tls_context>& by, const std::string& name = {})
      : engine(by, name) {}

  /// Processes incoming bytes, `piece` at a time.
  void hear(std::string bytes, std::size_t piece = std::string::npos) {
    while (!bytes.empty()) {
      unread += bytes.substr(0, piece);
      bytes.erase(0, std::min(piece, bytes.size()));
      go_on();
    }
  }
  void go_on() {
    std::span<char> in(unread);
    if (!engine.is_established() && last != outcome::failed) last = engine.handshake(in);
    while (engine.is_established()) {
      char into[3000];
      std::size_t bytes = 0;
      last = engine.read(in, into, bytes);
      if (last != outcome::done) break;
      EXPECT_GT(bytes, 0u);
      heard.append(into, bytes);
    }
    if (last == outcome::needs_input) {
      EXPECT_TRUE(in.empty());
    }
    unread.erase(0, unread.size() - in.size());
  }
  std::string said() { return std::exchange(engine.output(), {}); }

  tls_engine engine;
  std::string unread, heard;
  outcome last = outcome::needs_input;
};

/// A peer by OpenSSL alone, which may do things that an engine would not.
class other_end {
 public:
  explicit other_end(const std::function<void(SSL_CTX*)>& prepare,
                     const SSL_METHOD* how = TLS_client_method())
      : context_(SSL_CTX_new(how)) {
    prepare(context_);
    ssl = SSL_new(context_);
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in_, out_);
  }
  other_end(const other_end&) = delete;
  other_end& operator=(const other_end&) = delete;
  ~other_end() {
    SSL_free(ssl);
    SSL_CTX_free(context_);
    ERR_clear_error();
  }

  /// Exchanges bytes until neither end has more to send. Returns true if the handshake succeeded.
  bool meet(end& server) {
    for (int round = 0; round < 20; ++round) {
      ERR_clear_error();
      if (SSL_is_init_finished(ssl) == 0) (void)SSL_connect(ssl);
      const std::string from = said();
      server.hear(from);
      const std::string back = server.said();
      hear(back);
      if (from.empty() && back.empty()) break;
    }
    return SSL_is_init_finished(ssl) == 1 && server.engine.is_established();
  }
  void hear(const std::string& bytes) {
    BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string said() {
    char* text = nullptr;
    const long size = BIO_get_mem_data(out_, &text);
    std::string all(text, static_cast<std::size_t>(size));
    (void)BIO_reset(out_);
    return all;
  }
  std::string read() {
    std::string all;
    char into[4096];
    std::size_t got = 0;
    while (SSL_read_ex(ssl, into, sizeof into, &got) == 1) all.append(into, got);
    return all;
  }
  void write(std::string_view text) {
    std::size_t taken = 0;
    ASSERT_EQ(SSL_write_ex(ssl, text.data(), text.size(), &taken), 1);
    ASSERT_EQ(taken, text.size());
  }

  SSL* ssl;

 private:
  SSL_CTX* context_;
  BIO* in_;   // owned by the SSL
  BIO* out_;  // owned by the SSL
};

void up_to_1_2(SSL_CTX* c) { SSL_CTX_set_max_proto_version(c, TLS1_2_VERSION); }

struct tls_engines : testing::Test {
  std::shared_ptr<const tls_context> server_that_speaks(tls_version least) const {
    tls_options o = files;
    o.min_version = least;
    return tls_context::for_server(o);
  }
  /// Passes the output of each end to the other until both have nothing more to send.
  static void talk(end& a, end& b, std::size_t piece = std::string::npos) {
    a.go_on();
    b.go_on();
    while (!a.engine.output().empty() || !b.engine.output().empty()) {
      b.hear(a.said(), piece);
      a.hear(b.said(), piece);
    }
  }

  const certificate_folder folder;
  const tls_options files = folder.write("one", test_certificate{});
  const std::shared_ptr<const tls_context> server = server_that_speaks(tls_version::v1_2);
  const std::shared_ptr<const tls_context> client =
      tls_context::for_client({.authorities = files.certificate});
};

TEST_F(tls_engines, talk_in_both_directions_in_pieces_of_any_size) {
  for (const std::size_t piece : {1u, 2u, 5u, 7u, 100u, 100'000u}) {
    end a(client, "localhost"), b(server);
    talk(a, b, piece);
    ASSERT_TRUE(a.engine.is_established() && b.engine.is_established()) << piece;
    EXPECT_EQ(a.engine.version(), "TLSv1.3");
    EXPECT_EQ(b.engine.protocol(), "");
    ASSERT_TRUE(a.engine.write("hello"));
    ASSERT_TRUE(b.engine.write("you"));
    ASSERT_TRUE(a.engine.write(" there"));
    talk(a, b, piece);
    EXPECT_EQ(b.heard, "hello there");
    EXPECT_EQ(a.heard, "you");
  }
}

TEST_F(tls_engines, split_at_each_byte_of_each_flight) {
  std::size_t longest = 1;
  for (std::size_t at = 1; at <= longest; ++at) {
    end a(client, "localhost"), b(server);
    a.go_on();
    for (int flight = 0; flight < 4; ++flight) {
      end& from = flight % 2 == 0 ? a : b;
      end& to = flight % 2 == 0 ? b : a;
      const std::string bytes = from.said();
      longest = std::max(longest, bytes.size());
      to.hear(bytes.substr(0, at));
      if (at < bytes.size()) to.hear(bytes.substr(at));
    }
    ASSERT_TRUE(a.engine.is_established() && b.engine.is_established()) << at;
  }
  EXPECT_GT(longest, 500u);
}

TEST_F(tls_engines, carry_much_in_both_directions_at_once) {
  std::mt19937 random(7);
  end a(client, "localhost"), b(server);
  talk(a, b);
  std::string from_a, from_b, way_to_b, way_to_a;
  const auto text = [&] {
    std::string made(random() % 40'000, '\0');
    for (char& c : made) c = static_cast<char>(random());
    return made;
  };
  for (int i = 0; i < 200; ++i) {
    const std::string one = text(), two = text();
    ASSERT_TRUE(a.engine.write(one) && b.engine.write(two));
    from_a += one;
    from_b += two;
    way_to_b += a.said();
    way_to_a += b.said();
    const auto some = [&](std::string& of) {
      const std::string part = of.substr(0, random() % (of.size() + 1));
      of.erase(0, part.size());
      return part;
    };
    b.hear(some(way_to_b));
    a.hear(some(way_to_a));
  }
  b.hear(way_to_b);
  a.hear(way_to_a);
  EXPECT_TRUE(b.heard == from_a);
  EXPECT_TRUE(a.heard == from_b);
}

TEST_F(tls_engines, send_close_notify_and_keep_reading) {
  end a(client, "localhost"), b(server);
  talk(a, b);
  b.engine.close();
  b.engine.close();  // a second close does nothing
  a.hear(b.said());
  EXPECT_EQ(a.last, outcome::closed);
  ASSERT_TRUE(a.engine.write("last words"));
  b.hear(a.said());
  EXPECT_EQ(b.heard, "last words");
  EXPECT_EQ(b.last, outcome::needs_input);
  a.engine.close();
  b.hear(a.said());
  EXPECT_EQ(b.last, outcome::closed);
  b.go_on();
  EXPECT_EQ(b.last, outcome::closed);
  EXPECT_FALSE(b.engine.error());
  EXPECT_FALSE(b.engine.write("too late"));
}

TEST_F(tls_engines, refuse_tampered_records) {
  end first(client, "localhost"), second(server);
  talk(first, second);
  ASSERT_TRUE(first.engine.write("hello"));
  const std::size_t size = first.said().size();
  for (std::size_t at = 0; at < size; ++at) {
    end a(client, "localhost"), b(server);
    talk(a, b);
    ASSERT_TRUE(a.engine.write("hello"));
    std::string bytes = a.said();
    bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
    b.hear(bytes);
    EXPECT_EQ(b.heard, "") << at;
    if (b.last == outcome::needs_input) {  // it believes that the record is longer
      EXPECT_TRUE(at == 3 || at == 4) << at;
      continue;
    }
    EXPECT_EQ(b.last, outcome::failed) << at;
    EXPECT_TRUE(b.engine.error()) << at;
    EXPECT_FALSE(b.engine.error().message().empty());
    a.hear(b.said());
    EXPECT_EQ(a.last, outcome::failed) << at;  // it gets an alert
    EXPECT_FALSE(b.engine.write("x"));
  }
}

TEST_F(tls_engines, survive_a_handshake_in_which_any_byte_is_another) {
  end model(client, "localhost"), answering(server);
  model.go_on();
  const std::size_t hello = model.engine.output().size();
  for (int flight = 0; flight < 3; ++flight) {
    for (std::size_t at = 0; at < hello; at += flight == 0 ? 1 : 3) {
      end a(client, "localhost"), b(server);
      a.go_on();
      for (int each = 0; each < 8; ++each) {
        end& from = each % 2 == 0 ? a : b;
        end& to = each % 2 == 0 ? b : a;
        std::string bytes = from.said();
        if (each == flight && at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
        to.hear(bytes);
      }
      const bool has_failed = a.last == outcome::failed || b.last == outcome::failed;
      const bool waits = !a.engine.is_established() || !b.engine.is_established();
      // The version in the head of the first record is not checked, and not all flights are as long
      // as the first.
      EXPECT_TRUE(has_failed || waits || at < 3 || flight > 0) << flight << " " << at;
    }
  }
}

TEST_F(tls_engines, know_garbage_and_plain_http) {
  const auto why = [&](std::string bytes) {
    end b(server);
    b.hear(std::move(bytes));
    EXPECT_EQ(b.last, outcome::failed);
    return b.engine.why();
  };
  for (const char* method : {"GET", "POST", "OPTIONS", "CONNECT", "PRI"}) {
    EXPECT_EQ(why(method + std::string(" / HTTP/1.1\r\nHost: here\r\n\r\n")),
              tls_engine::failure::plain_text);
  }
  EXPECT_EQ(why("G"), tls_engine::failure::plain_text);
  EXPECT_EQ(why(std::string(100, '\0')), tls_engine::failure::other);
  EXPECT_EQ(why("lower case as well"), tls_engine::failure::other);
  EXPECT_EQ(why("\x16\x03\x01\xff\xff" + std::string(100, 'x')), tls_engine::failure::other);
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes("\x16\x03\x01\x01\x00", 5);
    for (int k = 0; k < 300; ++k) bytes += static_cast<char>(random());
    (void)why(std::move(bytes));
  }
}

TEST_F(tls_engines, speak_1_2_and_not_1_1) {
  end b(server);
  other_end with_1_2(up_to_1_2);
  EXPECT_TRUE(with_1_2.meet(b));
  EXPECT_EQ(b.engine.version(), "TLSv1.2");

  end c(server);
  other_end with_1_1([](SSL_CTX* x) {
    SSL_CTX_set_security_level(x, 0);
    SSL_CTX_set_min_proto_version(x, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(x, TLS1_1_VERSION);
  });
  EXPECT_FALSE(with_1_1.meet(c));
  EXPECT_EQ(c.last, outcome::failed);
  EXPECT_EQ(c.engine.why(), tls_engine::failure::version);
}

TEST_F(tls_engines, speak_no_1_2_if_1_3_is_the_least) {
  const auto strict = server_that_speaks(tls_version::v1_3);
  end b(strict);
  other_end with_1_2(up_to_1_2);
  EXPECT_FALSE(with_1_2.meet(b));
  EXPECT_EQ(b.engine.why(), tls_engine::failure::version);

  end c(strict);
  other_end with_all([](SSL_CTX*) {});
  EXPECT_TRUE(with_all.meet(c));
}

TEST_F(tls_engines, choose_no_cipher_without_forward_secrecy) {
  end b(server);
  other_end plain_rsa([](SSL_CTX* x) {
    up_to_1_2(x);
    SSL_CTX_set_cipher_list(x, "AES128-SHA:AES128-GCM-SHA256:ECDHE-ECDSA-AES128-SHA");
  });
  EXPECT_FALSE(plain_rsa.meet(b));
  EXPECT_EQ(b.engine.why(), tls_engine::failure::other);
}

TEST_F(tls_engines, refuse_to_begin_again) {
  end b(server);
  other_end a(up_to_1_2);
  ASSERT_TRUE(a.meet(b));
  ASSERT_EQ(SSL_renegotiate(a.ssl), 1);
  (void)SSL_do_handshake(a.ssl);
  b.hear(a.said());
  EXPECT_EQ(b.last, outcome::needs_input);  // for the server nothing has changed
  ASSERT_TRUE(b.engine.write("as before"));
  a.hear(b.said());
  EXPECT_EQ(a.read(), "");  // OpenSSL's client gives up after this reply
  EXPECT_EQ(ERR_GET_REASON(ERR_peek_error()), SSL_R_NO_RENEGOTIATION);
}

TEST_F(tls_engines, update_keys_on_request) {
  end b(server);
  other_end a([](SSL_CTX*) {});
  ASSERT_TRUE(a.meet(b));
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(SSL_key_update(a.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    a.write("x");
    b.hear(a.said());
    ASSERT_TRUE(b.engine.write("y"));
    a.hear(b.said());
    EXPECT_EQ(a.read(), "y");
  }
  EXPECT_EQ(b.heard, "xxxxxxxxxx");
}

TEST_F(tls_engines, negotiate_only_http_1_1_by_alpn) {
  const auto offering = [](std::string offers) {
    return [offers](SSL_CTX* x) {
      SSL_CTX_set_alpn_protos(x, reinterpret_cast<const unsigned char*>(offers.data()),
                              static_cast<unsigned>(offers.size()));
    };
  };
  end b(server);
  other_end both(offering("\x02h2\x08http/1.1"));
  EXPECT_TRUE(both.meet(b));
  EXPECT_EQ(b.engine.protocol(), "http/1.1");

  end c(server);
  other_end only_h2(offering("\x02h2"));
  EXPECT_FALSE(only_h2.meet(c));
}

TEST_F(tls_engines, meet_again_by_a_ticket) {
  const std::string versions[] = {"TLSv1.2", "TLSv1.3"};
  for (const std::string& version : versions) {
    const auto prepare = [&](SSL_CTX* x) {
      SSL_CTX_set_max_proto_version(x, version == "TLSv1.2" ? TLS1_2_VERSION : TLS1_3_VERSION);
    };
    end b(server);
    other_end first(prepare);
    ASSERT_TRUE(first.meet(b));
    EXPECT_FALSE(b.engine.is_resumed());
    EXPECT_EQ(first.read(), "");  // reads the tickets
    SSL_SESSION* const kept = SSL_get1_session(first.ssl);

    end c(server);
    other_end again(prepare);
    SSL_set_session(again.ssl, kept);
    ASSERT_TRUE(again.meet(c));
    EXPECT_TRUE(c.engine.is_resumed()) << version;

    // Another certificate has other ticket keys.
    end d(server_that_speaks(tls_version::v1_2));
    other_end elsewhere(prepare);
    SSL_set_session(elsewhere.ssl, kept);
    ASSERT_TRUE(elsewhere.meet(d));
    EXPECT_FALSE(d.engine.is_resumed());
    SSL_SESSION_free(kept);
  }
}

// The clock of the simulation is the clock of the keys. OpenSSL uses the real time for sessions,
// and its own ticket keys do not expire.
TEST_F(tls_engines, do_a_full_handshake_when_the_key_of_a_ticket_has_expired) {
  sim::simulation sim(1);
  const auto prepare = [](SSL_CTX*) {};
  end b(server);
  other_end first(prepare);
  ASSERT_TRUE(first.meet(b));
  EXPECT_EQ(first.read(), "");  // reads the tickets
  SSL_SESSION* const kept = SSL_get1_session(first.ssl);
  const auto resumes = [&] {
    end c(server);
    other_end again(prepare);
    SSL_set_session(again.ssl, kept);
    EXPECT_TRUE(again.meet(c));
    return c.engine.is_resumed();
  };
  (void)sim.advance(ticket_keys::usual_period + std::chrono::minutes(1));
  EXPECT_TRUE(resumes()) << "with the key of the period before";
  (void)sim.advance(ticket_keys::usual_period);
  EXPECT_FALSE(resumes());
  SSL_SESSION_free(kept);
}

TEST_F(tls_engines, a_client_believes_only_whom_it_knows) {
  const auto meets = [&](const std::shared_ptr<const tls_context>& as, const std::string& name) {
    end a(as, name), b(server);
    talk(a, b);
    if (!a.engine.is_established()) {
      EXPECT_EQ(b.engine.why(), tls_engine::failure::alert);
    }
    return a.engine.is_established() && b.engine.is_established();
  };
  EXPECT_TRUE(meets(client, "localhost"));
  EXPECT_TRUE(meets(client, "127.0.0.1"));
  EXPECT_FALSE(meets(client, "elsewhere.example"));
  EXPECT_FALSE(meets(client, "127.0.0.2"));
  const tls_options other = folder.write("other", test_certificate({.name = "localhost"}));
  EXPECT_FALSE(meets(tls_context::for_client({.authorities = other.certificate}), "localhost"));
  EXPECT_FALSE(meets(tls_context::for_client({}), "localhost"));
  EXPECT_THROW(end(client, ""), tls_error);
}

}  // namespace
}  // namespace troupe::http::detail
