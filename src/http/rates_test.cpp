// SPDX-License-Identifier: Apache-2.0
// Rates and trusted proxies, on a whole server in a simulation: no test waits for real time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <troupe/http/http.hpp>
#include <troupe/http/simulated_client.hpp>
#include <troupe/net/simulated_network.hpp>
#include <troupe/net/socket.hpp>
#include <troupe/sim/simulation.hpp>

#include "raw_client.hpp"
#include "test_certificate.hpp"
#include "tls_context.hpp"
#include "tls_socket.hpp"

namespace troupe::http {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using frames = test::raw_client;  // for the bytes of frames

class echo : public actor {
 public:
  explicit echo(websocket client) : client_(std::move(client)) {}
  void on(text m) { client_.send(m.data == "who" ? std::string(client_.peer()) : m.data); }

 private:
  const websocket client_;
};

http::options with(http::limits l, std::vector<std::string> proxies = {}) {
  http::options o;
  o.limits = l;
  o.trusted_proxies = std::move(proxies);
  return o;
}

struct world {
  explicit world(http::options o, std::uint64_t seed = 1)
      : sim(seed), server(system, noting(std::move(o))), clients(system, "clients") {
    server.route("GET", "/who",
                 [](const request& r) { return response::text(std::string(r.peer())); });
    server.route("POST", "/size",
                 [](const request& r) { return response::text(std::to_string(r.body().size())); });
    server.websocket<echo>("/echo");
    server.start();
  }

  http::options noting(http::options o) {
    o.on_access = [this](const access& a) {
      log.push_back(std::string(a.peer) + " " + std::to_string(a.status));
    };
    return o;
  }
  http::statistics statistics() const { return server.statistics(); }
  bool comes_true(const std::function<bool()>& holds, duration within = 1s) {
    return sim.run_until(holds, within);
  }

  sim::simulation sim;
  net::simulated_network network{{.splits_one_in = 0}};
  std::vector<std::string> log;
  troupe::system system;
  http::server server;
  net::loop clients;
};

/// Says what the test wants, and hears everything.
class client {
 public:
  explicit client(world& in, const std::string& from = "192.0.2.1")
      : in_(in), it_(std::make_shared<state>(in)) {
    net::error_code error;
    it_->socket.bind({boost::asio::ip::make_address(from), 0}, error);
    std::optional<net::error_code> done;
    it_->socket.async_connect({boost::asio::ip::make_address("127.0.0.1"), in.server.port()},
                              [&](net::error_code e) { done = e; });
    EXPECT_TRUE(in.comes_true([&] { return done.has_value(); }));
    listen(it_);
  }
  ~client() { hang_up(); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// Does not wait until it is sent, which may take a while if it is much.
  void say(const std::string& bytes) {
    it_->to_send += bytes;
    if (it_->sending.empty()) send(it_);
  }
  void get(const std::string& path, const std::string& more = {}) {
    say("GET " + path + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n");
  }
  /// Asks, and returns the whole response.
  std::string ask(const std::string& path, const std::string& more = {}) {
    it_->heard.clear();
    get(path, more);
    EXPECT_TRUE(in_.comes_true([&] { return is_complete() || it_->is_over; }));
    return it_->heard;
  }
  void upgrade(const std::string& more = {}) {
    get("/echo",
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
            more);
    EXPECT_TRUE(in_.comes_true([&] { return it_->heard.ends_with("\r\n\r\n"); }));
    EXPECT_THAT(it_->heard, HasSubstr(" 101 "));
    it_->heard.clear();
  }
  void tell(std::string_view words, std::uint8_t kind = frames::text) {
    say(frames::frame(kind, words));
  }
  const std::string& heard() const { return it_->heard; }
  bool is_over() const { return it_->is_over; }
  /// Closes the sending direction only.
  void stop_sending() {
    net::error_code ignored;
    it_->socket.shutdown(net::socket::shutdown_send, ignored);
  }
  void stop_sending_when_sent() {
    EXPECT_TRUE(in_.comes_true([&] { return it_->sending.empty(); }));
    stop_sending();
  }
  void hang_up() {
    net::error_code ignored;
    it_->socket.close(ignored);
  }

 private:
  struct state {
    explicit state(world& in) : socket(in.clients.context()) {}
    net::socket socket;
    std::string heard;
    std::string to_send, sending;
    std::array<char, 4096> room;
    bool is_over = false;
  };

  static void send(const std::shared_ptr<state>& it) {
    it->sending = std::exchange(it->to_send, {});
    if (it->sending.empty()) return;
    boost::asio::async_write(it->socket, boost::asio::buffer(it->sending),
                             [it](net::error_code error, std::size_t) {
                               it->sending.clear();
                               if (!error) send(it);
                             });
  }
  static void listen(const std::shared_ptr<state>& it) {
    it->socket.async_read_some(boost::asio::buffer(it->room),
                               [it](net::error_code error, std::size_t bytes) {
                                 it->heard.append(it->room.data(), bytes);
                                 it->is_over = bool(error);
                                 if (!error) listen(it);
                               });
  }
  bool is_complete() const {
    const std::size_t head = it_->heard.find("\r\n\r\n");
    const std::size_t length = it_->heard.find("Content-Length: ");
    return head != std::string::npos && length < head &&
           it_->heard.size() == head + 4 + std::stoul(it_->heard.substr(length + 16));
  }

  world& in_;
  const std::shared_ptr<state> it_;
};

std::string body(const std::string& response) {
  const std::size_t head = response.find("\r\n\r\n");
  return head == std::string::npos ? "no response" : response.substr(head + 4);
}

// ── Connections ───────────────────────────────────────────────────────────────────────────────

TEST(rate_of_connections, beyond_it_they_are_closed_at_once_and_counted) {
  world w(with({.connections_per_second = 2, .connections_burst = 3}));
  client a(w), b(w), c(w), d(w), other(w, "192.0.2.2");
  ASSERT_TRUE(w.comes_true([&] { return d.is_over(); }));
  EXPECT_EQ(d.heard(), "");
  EXPECT_EQ(w.statistics().rate_connections, 1u);
  EXPECT_EQ(w.statistics().accepted, 4u);
  EXPECT_EQ(w.statistics().refused_per_address, 0u);
  EXPECT_EQ(body(a.ask("/who")), "192.0.2.1");
  EXPECT_EQ(body(other.ask("/who")), "192.0.2.2");
  (void)w.sim.advance(500ms);
  client e(w);
  EXPECT_EQ(body(e.ask("/who")), "192.0.2.1") << "there is one again after half a second";
  client f(w);
  EXPECT_TRUE(w.comes_true([&] { return f.is_over(); }));
}

TEST(rate_of_connections, ipv4_in_ipv6_is_ipv4_and_ipv6_counts_by_network) {
  world w(with({.connections_per_second = 1, .connections_burst = 1}));
  client a(w, "192.0.2.1"), b(w, "::ffff:192.0.2.1"), c(w, "2001:db8::1"), d(w, "2001:db8::2"),
      e(w, "2001:db8:0:1::1");
  ASSERT_TRUE(w.comes_true([&] { return b.is_over() && d.is_over(); }));
  EXPECT_EQ(body(e.ask("/who")), "2001:db8:0:1::1");
  EXPECT_EQ(w.statistics().rate_connections, 2u);
  EXPECT_FALSE(a.is_over() || c.is_over());
}

// ── TLS handshakes ────────────────────────────────────────────────────────────────────────────

/// A client of OpenSSL's, on the simulated network. It asks for /who.
class tls_client {
 public:
  tls_client(world& in, const tls_options& server, const std::string& from = "192.0.2.1")
      : it_(std::make_shared<state>()) {
    it_->by = detail::tls_context::for_client({.authorities = server.certificate});
    auto socket = std::make_shared<net::socket>(in.clients.context());
    net::error_code error;
    socket->bind({boost::asio::ip::make_address(from), 0}, error);
    socket->async_connect({boost::asio::ip::make_address("127.0.0.1"), in.server.port()},
                          [it = it_, socket](net::error_code e) {
                            if (!e) ask(it, std::move(*socket));
                          });
  }

  /// The server has answered.
  bool is_answered() const { return it_->heard.find(" 200 ") != std::string::npos; }
  /// The server has closed the connection without an answer.
  bool is_refused() const { return it_->is_over && it_->heard.empty(); }

 private:
  struct state {
    std::shared_ptr<const detail::tls_context> by;
    std::optional<detail::tls_socket> stream;
    std::string heard;
    std::array<char, 1024> room;
    bool is_over = false;
  };

  static void ask(const std::shared_ptr<state>& it, net::socket connected) {
    it->stream.emplace(std::move(connected), it->by, nullptr, "localhost");
    static const std::string request = "GET /who HTTP/1.1\r\nHost: a\r\n\r\n";
    boost::asio::async_write(*it->stream, boost::asio::buffer(request),
                             [it](net::error_code, std::size_t) {});
    hear(it);
  }
  static void hear(const std::shared_ptr<state>& it) {
    it->stream->async_read_some(boost::asio::buffer(it->room),
                                [it](net::error_code error, std::size_t bytes) {
                                  it->heard.append(it->room.data(), bytes);
                                  it->is_over = bool(error);
                                  if (!error) hear(it);
                                });
  }

  const std::shared_ptr<state> it_;
};

class rate_of_tls_handshakes : public testing::Test {
 protected:
  http::options secured(http::limits l, std::vector<std::string> proxies = {}) const {
    http::options o = with(l, std::move(proxies));
    o.tls = files_;
    return o;
  }

  const test::certificate_folder folder_;
  const tls_options files_ = folder_.write("it", test::test_certificate{});
};

TEST_F(rate_of_tls_handshakes, beyond_it_a_connection_is_closed_without_a_response) {
  world w(secured({.tls_handshakes_per_second = 1, .tls_handshakes_burst = 2}));
  tls_client a(w, files_), b(w, files_);
  ASSERT_TRUE(w.comes_true([&] { return a.is_answered() && b.is_answered(); }));
  tls_client c(w, files_), other(w, files_, "192.0.2.2");
  ASSERT_TRUE(w.comes_true([&] { return c.is_refused() && other.is_answered(); }));
  EXPECT_EQ(w.statistics().rate_tls_handshakes, 1u);
  EXPECT_EQ(w.statistics().tls_handshakes + w.statistics().tls_resumed, 3u);
  EXPECT_EQ(w.statistics().tls_gone + w.statistics().tls_cut + w.statistics().tls_failed, 0u);
  EXPECT_TRUE(w.comes_true([&] { return w.statistics().connections == 3; }, 100ms));
  (void)w.sim.advance(1s);
  tls_client d(w, files_);
  EXPECT_TRUE(w.comes_true([&] { return d.is_answered(); }));
}

TEST_F(rate_of_tls_handshakes, silent_connections_do_not_count) {
  world w(secured({.tls_handshakes_per_second = 1, .tls_handshakes_burst = 1}));
  client silent(w), also_silent(w);
  (void)w.sim.advance(100ms);
  tls_client a(w, files_);
  EXPECT_TRUE(w.comes_true([&] { return a.is_answered(); }));
  silent.say("x");
  EXPECT_TRUE(w.comes_true([&] { return silent.is_over(); }, 100ms));
  EXPECT_EQ(w.statistics().rate_tls_handshakes, 1u);
}

TEST_F(rate_of_tls_handshakes, the_default_serves_all_connections_of_an_address_at_once) {
  const http::limits l;
  EXPECT_GE(l.tls_handshakes_burst, l.connections_per_address_max);
  EXPECT_GT(l.tls_handshakes_per_second, 0u);
}

TEST_F(rate_of_tls_handshakes, a_trusted_proxy_has_no_limit) {
  world w(secured({.tls_handshakes_per_second = 1, .tls_handshakes_burst = 1}, {"10.0.0.1"}));
  tls_client a(w, files_, "10.0.0.1"), b(w, files_, "10.0.0.1"), c(w, files_, "10.0.0.1");
  EXPECT_TRUE(w.comes_true([&] { return a.is_answered() && b.is_answered() && c.is_answered(); }));
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────

TEST(rate_of_requests, beyond_it_requests_get_429_and_the_connection_stays_open) {
  world w(with({.requests_per_second = 1, .requests_burst = 2}));
  client a(w);
  EXPECT_THAT(a.ask("/who"), HasSubstr(" 200 "));
  EXPECT_THAT(a.ask("/nothing"), HasSubstr(" 404 "));
  const std::string refused = a.ask("/who");
  EXPECT_THAT(refused, HasSubstr("HTTP/1.1 429 Too Many Requests\r\n"));
  EXPECT_THAT(refused, HasSubstr("\r\nRetry-After: 1\r\n"));
  EXPECT_THAT(refused, Not(HasSubstr("Connection: close")));
  (void)w.sim.advance(1s);
  EXPECT_THAT(a.ask("/who"), HasSubstr(" 200 ")) << "on the same connection, after Retry-After";
  EXPECT_EQ(w.statistics().accepted, 1u);
  EXPECT_EQ(w.statistics().rate_requests, 1u);
  EXPECT_EQ(w.statistics().requests, 4u);
  EXPECT_THAT(w.log,
              ElementsAre("192.0.2.1 200", "192.0.2.1 404", "192.0.2.1 429", "192.0.2.1 200"));
}

TEST(rate_of_requests, retry_after_is_enough) {
  world w(with({.requests_per_second = 1, .requests_burst = 1}));
  client a(w);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(a.ask("/who"), HasSubstr(" 200 ")) << i;
    EXPECT_THAT(a.ask("/who"), HasSubstr("\r\nRetry-After: 1\r\n")) << i;
    (void)w.sim.advance(1s);
  }
}

TEST(rate_of_requests, a_body_that_is_not_read_ends_the_connection) {
  world w(with({.requests_per_second = 1, .requests_burst = 1}));
  client a(w);
  EXPECT_THAT(a.ask("/who"), HasSubstr(" 200 "));
  a.say("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /who HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(w.comes_true([&] { return a.is_over(); }, 10s));
  EXPECT_THAT(a.heard(), HasSubstr(" 429 "));
  EXPECT_THAT(a.heard(), HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_EQ(w.statistics().requests, 2u) << "the body is not taken for a request";
}

TEST(rate_of_requests, pipelined_requests_are_limited_individually) {
  world w(with({.requests_per_second = 1, .requests_burst = 2}));
  client a(w);
  std::string five;
  for (int i = 0; i < 5; ++i) five += "GET /who HTTP/1.1\r\nHost: a\r\n\r\n";
  a.say(five);
  ASSERT_TRUE(w.comes_true([&] { return w.log.size() == 5; }));
  EXPECT_EQ(w.statistics().rate_requests, 3u);
  EXPECT_THAT(w.log, ElementsAre("192.0.2.1 200", "192.0.2.1 200", "192.0.2.1 429", "192.0.2.1 429",
                                 "192.0.2.1 429"));
}

TEST(rate_of_requests, all_connections_of_an_address_share_it_and_no_other_address) {
  world w(with({.requests_per_second = 1, .requests_burst = 2}));
  client a(w), b(w), other(w, "192.0.2.2");
  EXPECT_THAT(a.ask("/who"), HasSubstr(" 200 "));
  EXPECT_THAT(b.ask("/who"), HasSubstr(" 200 "));
  EXPECT_THAT(a.ask("/who"), HasSubstr(" 429 "));
  EXPECT_THAT(b.ask("/who"), HasSubstr(" 429 "));
  EXPECT_THAT(other.ask("/who"), HasSubstr(" 200 "));
}

TEST(rate_of_requests, websocket_handshakes_count_as_requests) {
  world w(with({.requests_per_second = 1, .requests_burst = 1}));
  client a(w);
  EXPECT_THAT(a.ask("/who"), HasSubstr(" 200 "));
  EXPECT_THAT(a.ask("/echo",
                    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
              HasSubstr(" 429 "));
  EXPECT_EQ(w.statistics().upgraded, 0u);
}

TEST(rate_of_requests, a_drain_ends_a_connection_that_was_refused) {
  world w(with({.requests_per_second = 1, .requests_burst = 1}));
  client a(w);
  (void)a.ask("/who");
  (void)a.ask("/who");
  EXPECT_TRUE(w.server.drain(5s));
}

// ── Messages ──────────────────────────────────────────────────────────────────────────────────

TEST(rate_of_messages, beyond_it_the_client_is_not_read_and_nothing_is_lost) {
  world w(with({.messages_per_second = 10, .messages_burst = 5}));
  client a(w);
  a.upgrade();
  for (int i = 0; i < 30; ++i) a.tell(std::to_string(10 + i));
  (void)w.sim.advance(50ms);
  EXPECT_EQ(w.statistics().messages_in, 6u) << "the burst, and the one that was too many";
  (void)w.sim.advance(1s);
  EXPECT_LE(w.statistics().messages_in, 17u);
  EXPECT_GE(w.statistics().messages_in, 15u);
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().messages_in == 30; }, 10s));
  ASSERT_TRUE(w.comes_true([&] { return a.heard().size() == 30 * 4; }));
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(a.heard().substr(4 * i + 2, 2), std::to_string(10 + i));
  }
  EXPECT_GE(w.statistics().rate_messages, 20u);
  EXPECT_EQ(w.statistics().message_floods, 0u);
}

TEST(rate_of_messages, a_client_within_its_rate_is_never_held_back) {
  world w(with({.messages_per_second = 10, .messages_burst = 3}));
  client a(w);
  a.upgrade();
  for (int i = 0; i < 100; ++i) {
    a.tell("x");
    (void)w.sim.advance(110ms);
  }
  EXPECT_EQ(w.statistics().messages_in, 100u);
  EXPECT_EQ(w.statistics().rate_messages, 0u);
}

TEST(rate_of_messages, a_flood_beyond_the_bound_is_closed_with_1008) {
  world w(with({.messages_per_second = 10, .messages_burst = 5, .throttled_messages_max = 20}));
  client a(w);
  a.upgrade();
  std::string flood;
  for (int i = 0; i < 5'000; ++i) flood += frames::frame(frames::text, "");
  a.say(flood);
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().websockets == 0; }, 20s));
  EXPECT_EQ(w.statistics().message_floods, 1u);
  EXPECT_EQ(w.statistics().rate_messages, 20u);
  EXPECT_EQ(w.statistics().messages_in, 5u + 20u + 1u);
  EXPECT_THAT(a.heard(), HasSubstr(std::string("\x03\xf0", 2) + "too many messages"));
  EXPECT_THAT(w.log, ElementsAre("192.0.2.1 101", "192.0.2.1 1008"));
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().connections == 0; }, 20s));
}

TEST(rate_of_messages, a_pause_below_the_rate_ends_the_count_towards_a_flood) {
  world w(with({.messages_per_second = 10, .messages_burst = 1, .throttled_messages_max = 5}));
  client a(w);
  a.upgrade();
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 5; ++i) a.tell("x");
    (void)w.sim.advance(2s);
  }
  EXPECT_EQ(w.statistics().messages_in, 50u);
  EXPECT_EQ(w.statistics().rate_messages, 40u);
  EXPECT_EQ(w.statistics().message_floods, 0u);
}

TEST(rate_of_messages, pings_count_too) {
  world w(with({.messages_per_second = 1, .messages_burst = 2}));
  client a(w);
  a.upgrade();
  for (int i = 0; i < 10; ++i) a.tell("", frames::ping);
  (void)w.sim.advance(100ms);
  EXPECT_EQ(a.heard().size(), 3u * 2) << "pongs";
  (void)w.sim.advance(20s);
  EXPECT_EQ(a.heard().size(), 10u * 2);
}

TEST(rate_of_messages, a_client_that_disconnects_during_a_pause_is_noticed_within_seconds) {
  world w(with({.messages_per_second = 1, .messages_burst = 1}));
  client a(w);
  a.upgrade();
  for (int i = 0; i < 1'000; ++i) a.tell("x");
  (void)w.sim.advance(2s);
  ASSERT_EQ(w.statistics().websockets, 1u);
  a.hang_up();
  EXPECT_TRUE(w.comes_true([&] { return w.statistics().connections == 0; }, 3s));
  EXPECT_LT(w.statistics().messages_in, 10u);
  EXPECT_THAT(w.log, ElementsAre("192.0.2.1 101", "192.0.2.1 1006"));
}

TEST(rate_of_messages, a_client_that_half_closes_during_a_pause_is_noticed) {
  world w(with({.messages_per_second = 1, .messages_burst = 1}));
  client a(w);
  a.upgrade();
  for (int i = 0; i < 100; ++i) a.tell("x");
  (void)w.sim.advance(2s);
  a.stop_sending();
  EXPECT_TRUE(w.comes_true([&] { return w.statistics().connections == 0; }, 3s));
  EXPECT_EQ(w.statistics().throttled_disconnects, 1u);
}

TEST(rate_of_messages, a_connected_client_is_kept_during_a_long_pause) {
  world w(with({.messages_per_second = 1, .messages_burst = 1, .throttled_messages_max = 1'000}));
  client a(w);
  a.upgrade();
  for (int i = 0; i < 60; ++i) a.tell("x");
  EXPECT_TRUE(w.comes_true([&] { return w.statistics().messages_in == 60; }, 90s));
  EXPECT_EQ(w.statistics().throttled_disconnects, 0u);
  EXPECT_EQ(w.statistics().websockets, 1u);
}

TEST(rate_of_messages, a_client_that_is_held_to_its_rate_is_not_idle) {
  http::limits l{.messages_per_second = 1, .messages_burst = 1};
  l.idle_timeout = 2s;
  world w(with(l));
  client a(w);
  a.upgrade();
  for (int i = 0; i < 30; ++i) a.tell("x");
  (void)w.sim.advance(25s);
  EXPECT_EQ(w.statistics().idle_closed, 0u);
  EXPECT_EQ(w.statistics().websockets, 1u);
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().messages_in == 30; }, 10s));
  (void)w.sim.advance(5s);
  EXPECT_EQ(w.statistics().idle_closed, 1u) << "it answers no ping, and is read again";
}

TEST(rate_of_messages, a_drain_and_a_stop_do_not_wait_for_the_rate) {
  for (const bool drains : {true, false}) {
    world w(with({.messages_per_second = 1, .messages_burst = 1}));
    simulated_client a(w.clients, "192.0.2.1");
    a.connect(w.server.port(), "/echo");
    for (int i = 0; i < 100; ++i) a.send("x");
    ASSERT_TRUE(w.comes_true([&] { return w.statistics().rate_messages > 0; }, 5s));
    const time_point begin = clock::now();
    if (drains) {
      EXPECT_TRUE(w.server.drain(30s));
    } else {
      w.server.stop();
    }
    EXPECT_LT(clock::now() - begin, 10s);
    EXPECT_EQ(w.statistics().connections, 0u);
  }
}

/// Takes its time with each message.
class slow : public actor {
 public:
  explicit slow(websocket client) : client_(std::move(client)) {}
  exclusive_task<> on(text m) {
    co_await sleep_for(300ms);
    client_.send(m.data);
  }

 private:
  const websocket client_;
};

// Both may end first: the rate's pause, and the session's.
TEST(rate_of_messages, it_and_a_full_mailbox_hold_back_independently) {
  for (const std::uint64_t per_second : {1u, 4u, 20u}) {
    for (const std::size_t window : {1u, 2u, 16u}) {
      sim::simulation sim(1);
      net::simulated_network network;
      troupe::system system;
      http::limits l{.messages_per_second = per_second, .messages_burst = 2};
      l.receive_window = window;
      http::server server(system, with(l));
      server.websocket<slow>("/slow", spawn_options{.max_messages = 1});
      server.start();
      net::loop clients(system, "clients");
      simulated_client one(clients);
      one.connect(server.port(), "/slow");
      for (int i = 0; i < 20; ++i) one.send(std::to_string(i));
      ASSERT_TRUE(sim.run_until([&] { return one.messages_in() == 20; }, 1min)) << per_second;
      for (int i = 0; i < 20; ++i) EXPECT_EQ(one.take(), std::to_string(i));
      EXPECT_EQ(server.statistics().held_back, 0u);
    }
  }
}

// ── Bytes ─────────────────────────────────────────────────────────────────────────────────────

TEST(rate_of_bytes, a_websocket_that_sends_more_is_read_at_the_rate) {
  world w(with({.received_bytes_per_second = 10'000, .received_bytes_burst = 20'000}));
  client a(w);
  a.upgrade();
  for (int i = 0; i < 100; ++i) a.tell(std::string(1'000, 'x'));
  (void)w.sim.advance(4s);
  EXPECT_LE(w.statistics().bytes_in, 20'000u + 40'000u + 16'384u);
  EXPECT_GE(w.statistics().bytes_in, 20'000u + 30'000u);
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().messages_in == 100; }, 20s));
  EXPECT_GT(w.statistics().rate_received_bytes, 0u);
}

TEST(rate_of_bytes, a_body_is_read_at_the_rate) {
  world w(with({.received_bytes_per_second = 10'000, .received_bytes_burst = 10'000}));
  client a(w);
  const time_point begin = clock::now();
  a.say("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" +
        std::string(100'000, 'x'));
  ASSERT_TRUE(w.comes_true([&] { return a.heard().ends_with("100000"); }, 20s));
  EXPECT_GE(clock::now() - begin, 7s);
  EXPECT_LE(clock::now() - begin, 10s);
}

// Otherwise a client could keep its connection by sending too much.
TEST(rate_of_bytes, the_time_for_a_request_includes_the_pauses) {
  http::limits l{.received_bytes_per_second = 1'000, .received_bytes_burst = 1'000};
  l.request_timeout = 5s;
  world w(with(l));
  client a(w);
  const time_point begin = clock::now();
  a.say("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" +
        std::string(100'000, 'x'));
  ASSERT_TRUE(w.comes_true([&] { return a.heard().find(" 408 ") != std::string::npos; }, 20s));
  EXPECT_LE(clock::now() - begin, 6s);
  EXPECT_EQ(w.statistics().requests_timed_out, 1u);
  EXPECT_TRUE(w.comes_true([&] { return w.statistics().connections == 0; }, 20s));
}

// A client that floods while its connection closes. The network holds 64 KiB of it.
constexpr std::uint64_t allowed_in_two_seconds = 100'000 + 2 * 100'000 + 64 * 1024 + 3 * 16 * 1024;

TEST(rate_of_bytes, holds_for_a_websocket_that_closes) {
  world w(with({.request_timeout = 100ms,
                .close_timeout = 2s,
                .received_bytes_per_second = 100'000,
                .received_bytes_burst = 100'000}));
  client a(w);
  a.upgrade();
  a.say(frames::frame(frames::text, std::string(1000, 'x')).substr(0, 10));
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().requests_timed_out == 1; }));
  const std::uint64_t before = w.network.statistics().bytes;
  a.say(std::string(998, 'x'));  // the rest of that message
  for (int i = 0; i < 100; ++i) a.tell(std::string(60'000, 'y'));
  (void)w.sim.advance(1900ms);
  EXPECT_EQ(w.statistics().connections, 1u);
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().connections == 0; }));
  EXPECT_LE(w.network.statistics().bytes - before, allowed_in_two_seconds);
  EXPECT_GE(w.network.statistics().bytes - before, 300'000u);
  EXPECT_EQ(w.statistics().close_timed_out, 1u);
}

TEST(rate_of_bytes, holds_for_a_websocket_that_has_closed_and_goes_on_sending) {
  world w(with({.close_timeout = 2s,
                .received_bytes_per_second = 100'000,
                .received_bytes_burst = 100'000}));
  client a(w);
  a.upgrade();
  const std::uint64_t before = w.network.statistics().bytes;
  a.tell(frames::close_payload(1000), frames::close);
  a.say(std::string(6'000'000, 'y'));
  (void)w.sim.advance(1900ms);
  EXPECT_EQ(w.statistics().connections, 1u);
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().connections == 0; }));
  EXPECT_LE(w.network.statistics().bytes - before, allowed_in_two_seconds);
  EXPECT_GE(w.network.statistics().bytes - before, 300'000u);
}

TEST(rate_of_bytes, holds_after_an_error_for_which_the_connection_closes) {
  world w(with({.close_timeout = 2s,
                .received_bytes_per_second = 100'000,
                .received_bytes_burst = 100'000}));
  client a(w);
  const std::uint64_t before = w.network.statistics().bytes;
  a.say("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 6000000\r\n\r\n" +
        std::string(6'000'000, 'y'));
  (void)w.sim.advance(1900ms);
  EXPECT_THAT(a.heard(), HasSubstr(" 404 "));
  EXPECT_EQ(w.statistics().connections, 1u);
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().connections == 0; }));
  EXPECT_LE(w.network.statistics().bytes - before, allowed_in_two_seconds);
  EXPECT_GE(w.network.statistics().bytes - before, 300'000u);
}

// The end of a client is noticed when the rate lets the connection be read.
TEST(rate_of_bytes, a_connection_that_closes_ends_when_its_client_has_been_read) {
  world w(with(
      {.close_timeout = 5s, .received_bytes_per_second = 100'000, .received_bytes_burst = 1'000}));
  client a(w);
  a.say("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n" +
        std::string(50'000, 'y'));
  a.stop_sending_when_sent();
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().connections == 0; }, 2s));
  EXPECT_THAT(a.heard(), HasSubstr(" 404 "));
  EXPECT_EQ(w.statistics().close_timed_out, 0u);
}

TEST(rate_of_bytes, a_throttled_idle_connection_still_times_out) {
  http::limits l{.received_bytes_per_second = 1, .received_bytes_burst = 1};
  l.idle_timeout = 5s;
  world w(with(l));
  client a(w);
  EXPECT_THAT(a.ask("/who"), HasSubstr(" 200 "));
  (void)w.sim.advance(6s);
  EXPECT_TRUE(a.is_over());
  EXPECT_EQ(w.statistics().idle_closed, 1u);
}

TEST(rate_of_bytes, a_drain_ends_a_connection_that_is_held_back) {
  world w(with({.received_bytes_per_second = 1, .received_bytes_burst = 1}));
  client a(w);
  EXPECT_THAT(a.ask("/who"), HasSubstr(" 200 "));
  const time_point begin = clock::now();
  EXPECT_TRUE(w.server.drain(5s));
  EXPECT_LT(clock::now() - begin, 1s);
}

// ── Trusted proxies ───────────────────────────────────────────────────────────────────────────

TEST(trusted_proxy, names_the_client_to_handlers_sessions_and_the_access_log) {
  world w(with({}, {"10.0.0.0/8"}));
  client proxy(w, "10.0.0.1");
  EXPECT_EQ(body(proxy.ask("/who", "X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.0.0.2\r\n")),
            "192.0.2.1");
  EXPECT_EQ(body(proxy.ask("/who", "Forwarded: for=\"[2001:db8::1]:80\";proto=https\r\n")),
            "2001:db8::1");
  EXPECT_EQ(body(proxy.ask("/who")), "10.0.0.1") << "of the proxy itself";
  EXPECT_EQ(body(proxy.ask("/nothing", "X-Forwarded-For: 192.0.2.2\r\n")), "404 Not Found\n");
  proxy.upgrade("X-Forwarded-For: ::ffff:192.0.2.3\r\n");
  proxy.tell("who");
  ASSERT_TRUE(w.comes_true([&] { return !proxy.heard().empty(); }));
  EXPECT_EQ(proxy.heard().substr(2), "192.0.2.3");
  proxy.hang_up();
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().connections == 0; }, 10s));
  EXPECT_THAT(w.log, ElementsAre("192.0.2.1 200", "2001:db8::1 200", "10.0.0.1 200",
                                 "192.0.2.2 404", "192.0.2.3 101", "192.0.2.3 1006"));
}

TEST(trusted_proxy, headers_from_other_peers_are_ignored) {
  world w(with({.requests_per_second = 1, .requests_burst = 1}, {"10.0.0.1"}));
  for (const char* from : {"10.0.0.2", "192.0.2.1", "::1", "2001:db8::1"}) {
    client other(w, from);
    EXPECT_EQ(body(other.ask("/who", "X-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\n")),
              from);
    EXPECT_THAT(other.ask("/who", "X-Forwarded-For: 6.6.6.7\r\nForwarded: x\r\n"),
                HasSubstr(" 429 "));
  }
  client mapped(w, "::ffff:10.0.0.1");
  EXPECT_EQ(body(mapped.ask("/who", "X-Forwarded-For: 192.0.2.9\r\n")), "192.0.2.9");
}

TEST(trusted_proxy, a_malformed_header_gets_400) {
  world w(with({}, {"10.0.0.1"}));
  for (const char* wrong : {"X-Forwarded-For: x\r\n", "Forwarded: for\r\n",
                            "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.2\r\n"}) {
    client proxy(w, "10.0.0.1");
    EXPECT_THAT(proxy.ask("/who", wrong), HasSubstr(" 400 ")) << wrong;
    EXPECT_TRUE(w.comes_true([&] { return proxy.is_over(); }, 10s));
  }
  EXPECT_EQ(w.statistics().malformed_requests, 3u);
  EXPECT_THAT(w.log, ElementsAre("10.0.0.1 400", "10.0.0.1 400", "10.0.0.1 400"));
}

TEST(trusted_proxy, requests_count_for_the_client_and_not_for_the_proxy) {
  world w(with({.requests_per_second = 1, .requests_burst = 2}, {"10.0.0.1"}));
  client proxy(w, "10.0.0.1");
  for (int i = 1; i <= 20; ++i) {
    const std::string header = "X-Forwarded-For: 192.0.2." + std::to_string(i) + "\r\n";
    EXPECT_THAT(proxy.ask("/who", header), HasSubstr(" 200 "));
    EXPECT_THAT(proxy.ask("/who", header), HasSubstr(" 200 "));
    EXPECT_THAT(proxy.ask("/who", header), HasSubstr(" 429 "));
  }
  client direct(w, "192.0.2.20");
  EXPECT_THAT(direct.ask("/who"), HasSubstr(" 429 ")) << "it is the same client";
  EXPECT_EQ(w.statistics().connections, 2u);
}

TEST(trusted_proxy, its_connections_are_exempt_from_limits_per_address) {
  http::limits l{.connections_per_second = 1, .connections_burst = 1};
  l.connections_per_address_max = 2;
  world w(with(l, {"10.0.0.1"}));
  std::vector<std::unique_ptr<client>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(std::make_unique<client>(w, "10.0.0.1"));
    EXPECT_THAT(all.back()->ask("/who", "X-Forwarded-For: 192.0.2.1\r\n"), HasSubstr(" 200 "));
  }
  EXPECT_EQ(w.statistics().connections, 10u);
  EXPECT_EQ(w.statistics().rate_connections, 0u);
}

TEST(trusted_proxy, the_websockets_of_a_client_are_its_connections) {
  http::limits l;
  l.connections_per_address_max = 2;
  world w(with(l, {"10.0.0.1"}));
  const std::string header = "X-Forwarded-For: 192.0.2.1\r\n";
  client a(w, "10.0.0.1"), b(w, "10.0.0.1"), c(w, "10.0.0.1"), d(w, "10.0.0.1");
  a.upgrade(header);
  b.upgrade(header);
  EXPECT_THAT(c.ask("/who", header), HasSubstr(" 503 "));
  EXPECT_EQ(w.statistics().refused_per_address, 1u);
  EXPECT_THAT(d.ask("/who", "X-Forwarded-For: 192.0.2.2\r\n"), HasSubstr(" 200 "));
  client direct(w, "192.0.2.1");
  ASSERT_TRUE(w.comes_true([&] { return direct.heard().find(" 503 ") != std::string::npos; }));
  a.hang_up();
  ASSERT_TRUE(w.comes_true([&] { return w.statistics().websockets == 1; }, 10s));
  client again(w, "192.0.2.1");
  EXPECT_THAT(again.ask("/who"), HasSubstr(" 200 "));
}

TEST(trusted_proxy, messages_and_bytes_count_for_the_client) {
  world w(with({.messages_per_second = 1,
                .messages_burst = 2,
                .received_bytes_per_second = 100'000,
                .received_bytes_burst = 100'000},
               {"10.0.0.1"}));
  client a(w, "10.0.0.1"), b(w, "10.0.0.1"), c(w, "10.0.0.1");
  a.upgrade("X-Forwarded-For: 192.0.2.1\r\n");
  b.upgrade("X-Forwarded-For: 192.0.2.1\r\n");
  c.upgrade("X-Forwarded-For: 192.0.2.2\r\n");
  for (int i = 0; i < 3; ++i) a.tell("x");
  (void)w.sim.advance(50ms);
  EXPECT_EQ(w.statistics().messages_in, 3u);
  b.tell("x");
  b.tell("x");
  (void)w.sim.advance(50ms);
  EXPECT_EQ(w.statistics().messages_in, 4u) << "b shares what a has used";
  c.tell("x");
  c.tell("x");
  (void)w.sim.advance(50ms);
  EXPECT_EQ(w.statistics().messages_in, 6u) << "c does not";

  client d(w, "10.0.0.1");
  d.say(
      "POST /size HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.3\r\nContent-Length: "
      "200000\r\n\r\n" +
      std::string(200'000, 'x'));
  (void)w.sim.advance(500ms);
  EXPECT_EQ(d.heard(), "");
  client e(w, "10.0.0.1");
  e.say(
      "POST /size HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.4\r\nContent-Length: "
      "90000\r\n\r\n" +
      std::string(90'000, 'x'));
  ASSERT_TRUE(w.comes_true([&] { return e.heard().ends_with("90000"); }, 400ms));
  ASSERT_TRUE(w.comes_true([&] { return d.heard().ends_with("200000"); }, 5s));
  EXPECT_EQ(body(d.ask("/who", "X-Forwarded-For: 192.0.2.5\r\n")), "192.0.2.5")
      << "the pause of one client does not hold back the next one";
}

TEST(trusted_proxy, whatever_the_network_does_no_place_of_a_client_is_lost) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    sim::simulation sim(seed);
    net::simulated_network network(
        {.splits_one_in = 3, .resets_one_in = 15, .half_closes_one_in = 15});
    troupe::system system;
    http::limits l{.messages_per_second = 20, .messages_burst = 2};
    l.connections_per_address_max = 8;
    http::server server(system, with(l, {"127.0.0.0/8", "10.0.0.0/8"}));
    server.websocket<echo>("/echo");
    server.start();
    net::loop clients(system, "clients");
    for (int round = 0; round < 3; ++round) {
      // Without a header they count as 10.0.0.1, each with a place of its own.
      std::vector<simulated_client> all;
      for (int i = 0; i < 8; ++i) {
        all.emplace_back(clients, "10.0.0.1");
        all.back().connect(server.port(), "/echo");
        for (int k = 0; k < 5; ++k) all.back().send(std::string(50, 'x'));
      }
      (void)sim.advance(10s);
      for (simulated_client& each : all) each.close();
      ASSERT_TRUE(sim.run_until([&] { return server.statistics().connections == 0; }, 10min))
          << seed;
    }
    EXPECT_EQ(server.statistics().refused_per_address, 0u) << seed;
  }
}

// ── Options ───────────────────────────────────────────────────────────────────────────────────

TEST(rate_options, wrong_ones_are_refused) {
  troupe::system system({.workers = 1});
  const auto refused = [&](http::options o) {
    try {
      const http::server made(system, std::move(o));
    } catch (const std::invalid_argument& why) {
      return std::string(why.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(refused(with({.rate_addresses_max = 0})),
            "http::limits::rate_addresses_max must be positive");
  EXPECT_EQ(refused(with({.throttled_messages_max = 0})),
            "http::limits::throttled_messages_max must be positive");
  EXPECT_THAT(refused(with({}, {"nonsense"})), HasSubstr("\"nonsense\" is neither an address"));
}

}  // namespace
}  // namespace troupe::http
