// SPDX-License-Identifier: Apache-2.0
// A server with TLS over real sockets, with clients that use OpenSSL directly.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "test_certificate.hpp"
#include "test_server.hpp"
#include "tls_raw_client.hpp"

namespace troupe::http::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Sends this many messages of this size on request.
class pouring : public actor {
 public:
  explicit pouring(http::websocket client) : client_(std::move(client)) {}
  void on(const http::text& m) {
    const std::size_t count = std::stoul(m.data);
    for (std::size_t i = 0; i < count; ++i) client_.send(std::string(50'000, 'a' + char(i % 26)));
  }

 private:
  http::websocket client_;
};

struct open_gate {};

/// Replies when the test sends reply_all.
class gatekeeper : public actor {
 public:
  struct reply_all {};
  explicit gatekeeper(std::shared_ptr<diary> log) : log_(std::move(log)) {}
  void on(open_gate, reply<int> owed) {
    owed_.push_back(std::move(owed));
    log_->write("asked");
  }
  void on(reply_all) {
    for (reply<int>& each : owed_) each.set_value(0);
    owed_.clear();
  }

 private:
  const std::shared_ptr<diary> log_;
  std::vector<reply<int>> owed_;
};

class https_server : public served {
 protected:
  http::options with_tls() const {
    http::options o = on_free_port();
    o.tls = files_;
    return o;
  }
  void serve(http::options o) {
    start(std::move(o), [this](http::server& s) {
      s.route("GET", "/hello", [](const request& r) {
        return response::text(r.secure() ? "hello, secret\n" : "hello\n");
      });
      s.route("GET", "/large",
              [](const request&) { return response::text(std::string(3'000'000, 'L')); });
      s.route("POST", "/echo", [](const request& r) { return response::text(r.body()); });
      s.get("/later", [this](request) -> task<response> {
        (void)co_await gate_.ask<open_gate>(no_timeout);
        co_return response::text("later\n");
      });
      s.websocket<echo>("/echo");
      s.websocket<obedient>("/obey", log_);
      s.websocket<pouring>("/pour");
      s.health();
      s.metrics();
    });
  }
  tls_raw_client secure_connect(const tls_raw_client::prepare& how = {}) const {
    return tls_raw_client{server_->port(), how};
  }
  tls_raw_client secure_open(const std::string& path) const {
    tls_raw_client c = secure_connect();
    EXPECT_EQ(c.upgrade(path).status, 101u);
    return c;
  }

  const certificate_folder folder_;
  const tls_options files_ = folder_.write("one", test_certificate{});
  const std::shared_ptr<diary> log_ = std::make_shared<diary>();
  const ref<gatekeeper> gate_ = system_.spawn<gatekeeper>(log_);
};

TEST_F(https_server, serves_requests_and_websockets) {
  serve(with_tls());
  tls_raw_client c = secure_connect();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(c.get("/hello").body, "hello, secret\n");
  EXPECT_EQ(c.upgrade("/echo").status, 101u);
  for (const std::size_t size : {0u, 1u, 125u, 600u, 16'000u, 17'000u, 65'000u}) {
    const std::string text(size, 'x');
    c.say(text);
    EXPECT_EQ(c.hear(), text);
  }
  EXPECT_EQ(statistics().tls_handshakes, 1u);
  EXPECT_EQ(statistics().websockets, 1u);
}

// The read that watches the client is outstanding when the next request begins.
TEST_F(https_server, a_coroutine_may_be_followed_by_anything_that_was_sent_ahead) {
  serve(with_tls());
  std::size_t asked = 0;
  const auto wait_and_reply = [&](std::uint64_t bytes) {
    EXPECT_TRUE(comes_true([&] { return statistics().bytes_in >= bytes; }));
    EXPECT_EQ(log_->lines(++asked).size(), asked);
    gate_.send(gatekeeper::reply_all{});
  };
  const std::string later = "GET /later HTTP/1.1\r\nHost: a\r\n\r\n";
  {
    tls_raw_client c = secure_connect();
    c.send(later);
    c.ask_upgrade("/echo");
    wait_and_reply(150);
    EXPECT_EQ(c.read_answer().body, "later\n");
    EXPECT_EQ(c.read_answer().status, 101u);
    for (int i = 0; i < 3; ++i) {
      c.say(std::to_string(i));
      EXPECT_EQ(c.hear(), std::to_string(i));
    }
  }
  {
    const std::uint64_t before = statistics().bytes_in;
    tls_raw_client c = secure_connect();
    c.send(later);
    c.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    wait_and_reply(before + 100);
    EXPECT_EQ(c.read_answer().body, "later\n");
    EXPECT_EQ(c.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    c.send("ok");
    EXPECT_EQ(c.read_answer().body, "ok");
    c.send(later + "GET /hello HTTP/1.1\r\n\r\n");  // without Host
    wait_and_reply(before + 150);
    EXPECT_EQ(c.read_answer().body, "later\n");
    EXPECT_EQ(c.read_answer().status, 400u);
    EXPECT_EQ(c.read_to_end(), "");
  }
  {
    const tls_raw_client c = [&] {
      tls_raw_client gone = secure_connect();
      gone.send(later);
      EXPECT_TRUE(comes_true([&] { return statistics().handlers == 1; }));
      return gone;
    }();
  }
  EXPECT_TRUE(comes_true([&] { return statistics().handlers_cancelled == 1; }));
}

TEST_F(https_server, takes_many_messages_at_once) {
  serve(with_tls());
  tls_raw_client c = secure_open("/echo");
  for (int round = 0; round < 20; ++round) {
    std::string all;
    for (int i = 0; i < 16; ++i) {
      all += raw_client::frame(raw_client::text, std::to_string(i) + std::string(200, 'x'));
    }
    c.send(all);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(c.hear(), std::to_string(i) + std::string(200, 'x'));
  }
}

TEST_F(https_server, takes_and_sends_much) {
  serve(with_tls());
  tls_raw_client c = secure_connect();
  EXPECT_EQ(c.get("/large").body, std::string(3'000'000, 'L'));
  std::string body(1'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 / 3);
  c.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\n" + body);
  EXPECT_TRUE(c.read_answer().body == body);
}

TEST_F(https_server, buffers_data_for_a_client_that_does_not_read_yet) {
  http::options o = with_tls();
  o.limits.send_queue_bytes = 32 * 1024 * 1024;
  serve(o);
  tls_raw_client c = secure_open("/pour");
  c.say("300");  // more than the sockets hold
  tls_raw_client other = secure_connect();
  EXPECT_EQ(other.get("/hello").status, 200u);
  for (std::size_t i = 0; i < 300; ++i) {
    ASSERT_EQ(c.hear(), std::string(50'000, 'a' + char(i % 26)));
  }
}

TEST_F(https_server, closes_a_client_that_reads_too_slowly) {
  http::options o = with_tls();
  o.limits.close_timeout = 200ms;
  serve(o);
  tls_raw_client c = secure_open("/pour");
  c.say("300");
  EXPECT_TRUE(comes_true([&] { return statistics().slow_readers_closed == 1; }));
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

TEST_F(https_server, sends_close_notify_when_it_closes) {
  serve(with_tls());
  tls_raw_client c = secure_connect();
  EXPECT_EQ(c.get("/hello", "Connection: close\r\n").status, 200u);
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_FALSE(c.was_reset());
  EXPECT_TRUE(c.heard_farewell());

  tls_raw_client w = secure_open("/obey");
  w.say("close");
  EXPECT_EQ(w.hear(), "bye");
  EXPECT_EQ(w.read_close().code(), 4000u);
  EXPECT_EQ(w.read_to_end(), "");
  EXPECT_TRUE(w.heard_farewell());
  w.say_farewell();
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().tls_truncated, 0u);
}

TEST_F(https_server, close_notify_from_a_client_ends_the_session) {
  serve(with_tls());
  tls_raw_client c = secure_open("/obey");
  c.say_farewell();
  EXPECT_THAT(log_->lines(3), ElementsAre("opened", "closed 1006 End of file", "ended"));
  EXPECT_EQ(statistics().tls_truncated, 0u);
}

TEST_F(https_server, an_end_without_a_farewell_is_no_end) {
  serve(with_tls());
  tls_raw_client c = secure_open("/obey");
  c.half_close();
  EXPECT_THAT(log_->lines(3),
              ElementsAre("opened",
                          HasSubstr("closed 1006 the connection ended without a TLS close_notify"),
                          "ended"));
  EXPECT_EQ(statistics().tls_truncated, 1u);
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

TEST_F(https_server, a_tampered_record_closes_the_connection) {
  serve(with_tls());
  tls_raw_client c = secure_open("/obey");
  ASSERT_GT(::send(c.fd(),
                   "\x17\x03\x03\x00\x20"
                   "0123456789012345678901234567890123456789",
                   37, 0),
            0);
  EXPECT_THAT(log_->lines(3), ElementsAre("opened", HasSubstr("closed 1006 TLS: "), "ended"));
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

TEST_F(https_server, plain_http_gets_a_plain_400) {
  serve(with_tls());
  for (const char* method : {"GET", "POST", "OPTIONS"}) {
    raw_client c = connect();
    c.send(method + std::string(" /hello HTTP/1.1\r\nHost: here\r\nContent-Length: 20000\r\n\r\n") +
           std::string(20'000, 'x'));
    const answer a = c.read_answer();
    EXPECT_EQ(a.status, 400u);
    EXPECT_THAT(a.body, HasSubstr("this port speaks TLS; use https://"));
    EXPECT_EQ(c.read_to_end(), "");
    EXPECT_FALSE(c.was_reset());
  }
  EXPECT_EQ(statistics().tls_plain_text, 3u);
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().malformed_requests, 0u);
}

TEST_F(https_server, garbage_fails_the_handshake_and_closes_the_connection) {
  serve(with_tls());
  raw_client c = connect();
  c.send(std::string(5'000, '\x80'));
  const std::string alert = c.read_to_end();
  EXPECT_FALSE(c.was_reset());
  EXPECT_TRUE(alert.empty() || alert.front() == '\x15') << alert;
  c.hang_up();
  EXPECT_EQ(statistics().tls_failed, 1u);
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

TEST_F(https_server, counts_failed_handshakes_by_reason) {
  serve(with_tls());
  EXPECT_THROW(secure_connect([](SSL_CTX* x) {
                 SSL_CTX_set_security_level(x, 0);
                 SSL_CTX_set_min_proto_version(x, TLS1_VERSION);
                 SSL_CTX_set_max_proto_version(x, TLS1_1_VERSION);
               }),
               std::runtime_error);
  EXPECT_THROW(secure_connect([](SSL_CTX* x) { SSL_CTX_set_verify(x, SSL_VERIFY_PEER, nullptr); }),
               std::runtime_error);
  connect().hang_up();
  EXPECT_TRUE(comes_true([&] {
    const http::statistics s = statistics();
    return s.tls_version == 1 && s.tls_alerts == 1 && s.tls_gone == 1 && s.connections == 0;
  }));
  EXPECT_THAT(secure_connect().get("/metrics").body,
              HasSubstr("troupe_http_tls_failed_total{reason=\"version\"} 1"));
}

TEST_F(https_server, stalled_handshakes_time_out_and_do_not_delay_others) {
  http::options o = with_tls();
  o.limits.handshake_timeout = 2s;  // the time for the other handshakes
  serve(o);
  std::vector<raw_client> silent;
  for (int i = 0; i < 10; ++i) {
    silent.push_back(connect());
    if (i % 2 == 0) silent.back().send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  }
  EXPECT_EQ(secure_connect().get("/hello").status, 200u);
  for (raw_client& c : silent) c.read_to_end();
  EXPECT_EQ(statistics().tls_cut, 10u);
  EXPECT_GE(statistics().requests_timed_out, 10u);
}

TEST_F(https_server, one_that_is_refused_but_stays_is_cut_too) {
  http::options o = with_tls();
  o.limits.handshake_timeout = 1s;  // the time for its response
  serve(o);
  raw_client c = connect();
  c.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(c.read_answer().status, 400u);  // and does not close
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

TEST_F(https_server, a_full_server_responds_with_503_over_tls) {
  http::options o = with_tls();
  o.limits.connections_max = 1;
  o.limits.handshake_timeout = 2s;  // the time for the other handshakes
  serve(o);
  tls_raw_client first = secure_connect();
  EXPECT_EQ(first.get("/hello").status, 200u);
  tls_raw_client second = secure_connect();
  EXPECT_EQ(second.read_answer().status, 503u);
  raw_client silent = connect();  // gets no response, because it sends nothing
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_EQ(statistics().refused_full, 2u);
}

TEST_F(https_server, a_drain_sends_close_frames_and_close_notify) {
  serve(with_tls());
  tls_raw_client w = secure_open("/obey");
  tls_raw_client idle = secure_connect();
  ASSERT_EQ(idle.get("/healthz").body, "ok\n");
  raw_client in_handshake = connect();
  in_handshake.send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  ASSERT_TRUE(comes_true([&] { return statistics().accepted == 3; }));
  bool drained = false;
  {
    const std::jthread draining{[&] { drained = server_->drain(30s); }};
    EXPECT_EQ(w.read_close().code(), 1001u);
    EXPECT_EQ(w.read_to_end(), "");
    EXPECT_TRUE(w.heard_farewell());
    w.hang_up();
    EXPECT_EQ(idle.read_to_end(), "");
    EXPECT_TRUE(idle.heard_farewell());
    in_handshake.read_to_end();
  }
  EXPECT_TRUE(drained);
  EXPECT_EQ(statistics().tls_cut, 1u);
}

TEST_F(https_server, stop_cuts_without_a_farewell) {
  serve(with_tls());
  tls_raw_client w = secure_open("/obey");
  tls_raw_client idle = secure_connect();
  ASSERT_EQ(idle.get("/healthz").status, 200u);
  raw_client in_handshake = connect();
  server_->stop();
  EXPECT_EQ(w.read_to_end(), "");
  EXPECT_FALSE(w.heard_farewell());
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_THAT(log_->lines(3),
              ElementsAre("opened", "closed 1006 the server closed the connection", "ended"));
}

TEST_F(https_server, its_destructor_ends_all_that_is_going_on) {
  serve(with_tls());
  std::vector<tls_raw_client> pouring;
  for (int i = 0; i < 5; ++i) {
    pouring.push_back(secure_open("/pour"));
    pouring.back().say("15");
  }
  std::vector<raw_client> begun;
  for (int i = 0; i < 5; ++i) begun.push_back(connect());
  server_.reset();
  for (tls_raw_client& c : pouring) c.read_to_end();
}

TEST_F(https_server, the_system_may_go_first) {
  serve(with_tls());
  tls_raw_client c = secure_open("/obey");
  raw_client begun = connect();
  EXPECT_TRUE(system_.shutdown(30s).complete());
  c.read_to_end();
  server_.reset();
}

TEST_F(https_server, pings_and_cuts_the_idle) {
  http::options o = with_tls();
  o.limits.idle_timeout = 400ms;
  serve(o);
  tls_raw_client w = secure_open("/obey");
  EXPECT_EQ(w.read_frame().opcode, raw_client::ping);
  EXPECT_EQ(w.read_to_end(), "");  // to which it does not reply
  EXPECT_EQ(statistics().idle_closed, 1u);
  tls_raw_client c = secure_connect();
  EXPECT_EQ(c.get("/hello").status, 200u);
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_TRUE(c.heard_farewell());
}

TEST_F(https_server, a_slow_request_gets_408_and_close_notify) {
  http::options o = with_tls();
  o.limits.request_timeout = 200ms;
  serve(o);
  tls_raw_client c = secure_connect();
  c.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n12345");
  EXPECT_EQ(c.read_answer().status, 408u);
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_TRUE(c.heard_farewell());
}

TEST_F(https_server, websockets_of_its_own_pages_require_an_https_origin) {
  serve(with_tls());
  const auto from = [&](const std::string& origin) {
    return secure_connect().upgrade("/echo", "Origin: " + origin + "\r\n").status;
  };
  EXPECT_EQ(from("https://here"), 101u);
  EXPECT_EQ(from("https://here:443"), 101u);
  EXPECT_EQ(from("http://here"), 403u);
  EXPECT_EQ(from("https://elsewhere"), 403u);
  EXPECT_EQ(from("null"), 403u);
}

TEST_F(https_server, a_renewed_certificate_applies_to_new_connections) {
  serve(with_tls());
  tls_raw_client before = secure_open("/echo");
  EXPECT_EQ(before.subject(), "/CN=localhost");
  const test_certificate next({.name = "renewed"});
  EXPECT_EQ(server_->renew_tls(folder_.write("next", next)).subject, "CN=renewed");
  EXPECT_EQ(secure_connect().subject(), "/CN=renewed");
  before.say("still here");
  EXPECT_EQ(before.hear(), "still here");
  EXPECT_EQ(server_->certificate().subject, "CN=renewed");

  tls_options wrong = files_;
  wrong.key = folder_.path() / "next.key";
  try {
    server_->renew_tls(wrong);
    ADD_FAILURE() << "it was taken";
  } catch (const tls_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("next.key\" does not belong to certificate"));
  }
  EXPECT_EQ(secure_connect().subject(), "/CN=renewed");

  tls_options strict = files_;
  strict.min_version = tls_version::v1_3;
  server_->renew_tls(strict);
  EXPECT_THROW(secure_connect([](SSL_CTX* x) { SSL_CTX_set_max_proto_version(x, TLS1_2_VERSION); }),
               std::runtime_error);
  EXPECT_EQ(secure_connect().subject(), "/CN=localhost");
}

TEST_F(https_server, certificates_may_be_renewed_while_clients_connect) {
  http::options o = with_tls();
  o.loops = 2;
  serve(o);
  const tls_options next = folder_.write("next", test_certificate({.name = "renewed"}));
  std::jthread renewing{[&](const std::stop_token& end) {
    for (int i = 0; !end.stop_requested(); ++i) server_->renew_tls(i % 2 == 0 ? next : files_);
  }};
  for (int i = 0; i < 100; ++i) {
    tls_raw_client c = secure_connect();
    EXPECT_EQ(c.get("/hello").status, 200u);
  }
}

TEST_F(https_server, a_wrong_pair_is_no_server) {
  http::options o = with_tls();
  o.tls.key = o.tls.certificate;
  EXPECT_THROW((http::server{system_, o}), tls_error);
}

TEST_F(https_server, a_client_resumes_its_session_with_a_ticket) {
  serve(with_tls());
  SSL_SESSION* kept = nullptr;
  {
    tls_raw_client c = secure_connect();
    EXPECT_EQ(c.get("/hello").status, 200u);  // the tickets arrived before the response
    kept = SSL_get1_session(c.ssl());
    c.say_farewell();
  }
  tls_raw_client again{server_->port(), {}, kept};
  EXPECT_EQ(again.get("/hello").status, 200u);
  SSL_SESSION_free(kept);
  EXPECT_EQ(statistics().tls_resumed, 1u);
}

TEST_F(https_server, many_clients_may_connect_at_once_on_several_loops) {
  http::options o = with_tls();
  o.loops = 2;
  serve(o);
  std::vector<std::jthread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([this, i] {
      for (int k = 0; k < 25; ++k) {
        tls_raw_client c = secure_open("/echo");
        c.say(std::to_string(100 * i + k));
        EXPECT_EQ(c.hear(), std::to_string(100 * i + k));
      }
    });
  }
  clients.clear();
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().tls_handshakes + statistics().tls_resumed, 100u);
}

}  // namespace
}  // namespace troupe::http::test
