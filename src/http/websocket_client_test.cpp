// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "client_test.hpp"

namespace troupe::http::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Records the events.
class listening : public actor {
 public:
  listening(http::websocket, std::shared_ptr<diary> log) : log_(std::move(log)) {}
  void on(const http::text& m) { log_->write("text " + m.data); }
  void on(const http::binary& m) { log_->write("binary " + m.data); }
  void on(const http::closed& m) {
    log_->write("closed " + std::to_string(m.code) + " " + m.reason);
  }

 private:
  std::shared_ptr<diary> log_;
};

class websocket_client : public asking_client {
 protected:
  connect_websocket to(const std::string& url) {
    return {url, served_by<listening>(system_, log_)};
  }
  connected open(connect_websocket what) { return its_answer(std::move(what)); }
  connected open(const std::string& url) { return open(to(url)); }
  std::string served_url(const std::string& target) const {
    return "ws://127.0.0.1:" + std::to_string(server_->port()) + target;
  }
  /// The events of a session whose peer accepts the WebSocket, and then does this.
  std::string end_with(const raw_server::serving& does) {
    log_ = std::make_shared<diary>();
    raw_server peer([&](raw_client& p, int n) {
      raw_server::agree(p);
      does(p, n);
    });
    const connected got = open(peer.websocket_url());
    EXPECT_TRUE(got) << error_text(got);
    const auto lines = log_->lines(1);
    return lines.empty() ? "nothing" : lines.back();
  }

  std::shared_ptr<diary> log_ = std::make_shared<diary>();
};

TEST_F(websocket_client, talks_to_a_server) {
  start(on_free_port(), [](http::server& on) { on.websocket<echo>("/echo"); });
  const connected got = open(served_url("/echo?a=b"));
  ASSERT_TRUE(got) << error_text(got);
  EXPECT_EQ(got.status, 101u);
  EXPECT_EQ(got.socket.upgrade_request().target(), "/echo?a=b");
  got.socket.send("hello");
  got.socket.send_binary(std::string("\0\xff", 2));
  got.socket.send("");
  EXPECT_THAT(log_->lines(3),
              ElementsAre("text hello", "binary " + std::string("\0\xff", 2), "text "));
  EXPECT_EQ(counts().websockets, 1u);
  got.socket.close(4001, "enough");
  EXPECT_THAT(log_->lines(4).back(), "closed 4001 enough");
  EXPECT_EQ(got.socket.send("late"), delivery::refused);
  EXPECT_TRUE(comes_true([&] { return counts().websockets == 0; }));
}

TEST_F(websocket_client, sends_messages_of_all_sizes) {
  http::options o = on_free_port();
  o.limits.message_bytes = 1024 * 1024;
  options_.websocket_limits.message_bytes = 1024 * 1024;
  start(o, [](http::server& on) { on.websocket<echo>("/echo"); });
  const connected got = open(served_url("/echo"));
  ASSERT_TRUE(got);
  std::size_t heard = 0;
  for (const std::size_t size :
       std::initializer_list<std::size_t>{1, 125, 126, 4096, 4097, 65535, 65536, 300'000}) {
    got.socket.send(std::string(size, 'x'));
    const auto lines = log_->lines(++heard);
    ASSERT_EQ(lines.size(), heard);
    EXPECT_EQ(lines.back(), "text " + std::string(size, 'x'));
  }
}

TEST_F(websocket_client, masks_each_message_with_a_different_key) {
  std::string first, second;
  raw_server peer([&](raw_client& p, int) {
    raw_server::agree(p);
    first = p.read_exactly(2 + 4 + 5);
    second = p.read_exactly(2 + 4 + 5);
    p.send(raw_client::frame(raw_client::text, "seen", true, 0, false));
    p.read_to_end();
  });
  const connected got = open(peer.websocket_url());
  got.socket.send("hello");
  got.socket.send("hello");
  EXPECT_THAT(log_->lines(1), ElementsAre("text seen"));
  EXPECT_EQ(static_cast<unsigned char>(first[1]), 0x80u | 5u);
  EXPECT_NE(first, second);
  got.socket.close();
}

TEST_F(websocket_client, sends_the_requested_subprotocols_and_headers) {
  std::string asked;
  raw_server peer([&](raw_client& p, int) {
    asked = raw_server::agree(p, "Sec-WebSocket-Protocol: feed.v2\r\n");
    p.send(raw_client::frame(raw_client::text, "early", true, 0, false));
    p.read_to_end();
  });
  connect_websocket what = to(peer.websocket_url("/feed"));
  what.protocols = {"feed.v1", "feed.v2"};
  what.headers.emplace_back("X-Key", "k");
  const connected got = open(std::move(what));
  ASSERT_TRUE(got) << error_text(got);
  EXPECT_EQ(got.socket.protocol(), "feed.v2");
  EXPECT_THAT(log_->lines(1), ElementsAre("text early"));
  EXPECT_THAT(asked, StartsWith("GET /feed HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_THAT(asked, HasSubstr("Sec-WebSocket-Protocol: feed.v1, feed.v2\r\n"));
  EXPECT_THAT(asked, HasSubstr("X-Key: k\r\n"));
  got.socket.close();
}

TEST_F(websocket_client, receives_messages_sent_directly_after_the_handshake) {
  raw_server peer([&](raw_client& p, int) {
    const std::string head = raw_server::read_head(p);
    constexpr std::string_view name = "Sec-WebSocket-Key: ";
    std::string all =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Accept: " +
        detail::websocket_accept(head.substr(head.find(name) + name.size(), 24)) + "\r\n\r\n";
    for (int i = 0; i < 300; ++i) {
      all += raw_client::frame(raw_client::text, std::to_string(i), true, 0, false);
    }
    p.send(all);
    p.read_to_end();
  });
  const connected got = open(peer.websocket_url());
  ASSERT_TRUE(got) << error_text(got);
  const auto lines = log_->lines(300);
  ASSERT_EQ(lines.size(), 300u);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(lines[i], "text " + std::to_string(i));
  got.socket.close();
}

// ── Handshakes ────────────────────────────────────────────────────────────────────────────────

TEST_F(websocket_client, accepts_only_a_response_that_matches_its_key) {
  const auto answered = [&](const std::string& answer, std::vector<std::string> protocols = {}) {
    raw_server peer([&](raw_client& p, int) {
      raw_server::read_head(p);
      p.send(answer);
      p.half_close();
      p.read_to_end();
    });
    connect_websocket what = to(peer.websocket_url());
    what.protocols = std::move(protocols);
    return open(std::move(what));
  };
  const std::string begin =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\n";
  EXPECT_THAT(error_text(answered(begin + "\r\n")),
              HasSubstr("Sec-WebSocket-Accept in the response does not match"));
  EXPECT_THAT(
      error_text(answered(begin + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")),
      StartsWith("malformed: Sec-WebSocket-Accept in the response does not match"));
  EXPECT_THAT(error_text(answered("HTTP/1.1 101 Switching Protocols\r\n\r\n")),
              HasSubstr("does not upgrade to a WebSocket"));
  const connected refused = answered("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(error_text(refused), "refused: the response status is 403 Forbidden");
  EXPECT_EQ(refused.status, 403u);
  EXPECT_THAT(error_text(answered("SSH-2.0\r\n\r\n")),
              StartsWith("malformed: the response is not valid HTTP"));
  EXPECT_THAT(error_text(answered("HTTP/1.1 101 Sw")), StartsWith("closed: "));
  EXPECT_THAT(error_text(answered(begin + "X: " + std::string(20'000, 'x') + "\r\n\r\n")),
              StartsWith("too large: "));
  EXPECT_EQ(log_->size(), 0u) << "there is no session";
}

TEST_F(websocket_client, believes_no_extension_and_no_other_subprotocol) {
  const auto answered = [&](const std::string& more, std::vector<std::string> protocols) {
    raw_server peer([&](raw_client& p, int) {
      raw_server::agree(p, more);
      p.read_to_end();
    });
    connect_websocket what = to(peer.websocket_url());
    what.protocols = std::move(protocols);
    return error_text(open(std::move(what)));
  };
  EXPECT_THAT(answered("Sec-WebSocket-Extensions: permessage-deflate\r\n", {}),
              HasSubstr("selects an extension"));
  EXPECT_THAT(answered("Sec-WebSocket-Protocol: other\r\n", {"mine"}),
              HasSubstr("was not offered"));
  EXPECT_THAT(answered("Sec-WebSocket-Protocol: other\r\n", {}), HasSubstr("was not offered"));
  EXPECT_THAT(answered("", {"mine"}), StartsWith("refused: the response selects none"));
}

TEST_F(websocket_client, gives_up_in_time) {
  raw_server silent([](raw_client& p, int) { p.read_to_end(); });
  connect_websocket what = to(silent.websocket_url());
  what.timeout = 1s;  // the time for connecting
  EXPECT_EQ(error_text(open(std::move(what))),
            "timeout: 127.0.0.1 did not complete the WebSocket handshake in time");
}

TEST_F(websocket_client, errors_name_the_invalid_part_of_a_request) {
  EXPECT_THAT(error_text(open("http://a/")), HasSubstr("must begin with ws:// or wss://"));
  connect_websocket what = to("ws://a/");
  what.protocols = {"a b"};
  EXPECT_THAT(error_text(open(what)), HasSubstr("is not a token of HTTP"));
  what.protocols = {};
  what.headers.emplace_back("Sec-WebSocket-Key", "x");
  EXPECT_THAT(error_text(open(what)), HasSubstr("is set by the client itself"));
}

TEST_F(websocket_client, opens_no_more_than_it_may) {
  options_.websockets_max = 1;
  start(on_free_port(), [](http::server& on) { on.websocket<echo>("/echo"); });
  const connected one = open(served_url("/echo"));
  ASSERT_TRUE(one);
  EXPECT_EQ(error_text(open(served_url("/echo"))),
            "overloaded: 1 WebSockets are connected already, which is the limit websockets_max");
  one.socket.close();
  EXPECT_TRUE(comes_true([&] { return counts().websockets == 0; }));
  EXPECT_TRUE(open(served_url("/echo")));
}

// ── The peer misbehaves ───────────────────────────────────────────────────────────────────────

TEST_F(websocket_client, protocol_violations_close_with_1002_or_1007) {
  std::atomic<unsigned> code{0};
  const auto sending = [&](std::string bytes) {
    return [&code, bytes = std::move(bytes)](raw_client& p, int) {
      p.send(bytes);
      code = raw_server::read_masked(p).code();
      p.read_to_end();
    };
  };
  EXPECT_EQ(end_with(sending(raw_client::frame(raw_client::text, "x", true, 0, true))),
            "closed 1002 a masked frame from a server");
  EXPECT_EQ(code, 1002u);
  EXPECT_THAT(end_with(sending(raw_client::frame(3, "x", true, 0, false))),
              StartsWith("closed 1002 "));
  EXPECT_THAT(end_with(sending(raw_client::frame(raw_client::text, "x", true, 0x40, false))),
              StartsWith("closed 1002 "));
  EXPECT_THAT(end_with(sending(raw_client::frame(raw_client::text, "\xff", true, 0, false))),
              StartsWith("closed 1007 "));
  EXPECT_EQ(code, 1007u);
}

TEST_F(websocket_client, replies_to_messages_before_a_violation) {
  std::promise<std::vector<ws_frame>> promise;
  raw_server peer([&](raw_client& p, int) {
    raw_server::agree(p);
    const auto said = [](const std::string& words) {
      return raw_client::frame(raw_client::text, words, true, 0, false);
    };
    p.send(said("one") + said("two") + said("\xff"));
    std::vector<ws_frame> heard;
    for (int i = 0; i < 3; ++i) heard.push_back(raw_server::read_masked(p));
    promise.set_value(std::move(heard));
    p.read_to_end();
  });
  EXPECT_TRUE(open(connect_websocket{peer.websocket_url(), served_by<echo>(system_)}));
  auto heard = promise.get_future();
  ASSERT_EQ(heard.wait_for(patience), std::future_status::ready);
  const std::vector<ws_frame> frames = heard.get();
  EXPECT_EQ(frames[0].payload, "one");
  EXPECT_EQ(frames[1].payload, "two");
  EXPECT_EQ(frames[2].code(), 1007u);
}

TEST_F(websocket_client, a_too_large_message_closes_with_1009) {
  options_.websocket_limits.message_bytes = 10;
  EXPECT_THAT(end_with([](raw_client& p, int) {
                p.send(raw_client::frame(raw_client::text, std::string(11, 'x'), true, 0, false));
                raw_server::read_masked(p);
                p.read_to_end();
              }),
              StartsWith("closed 1009 "));
}

TEST_F(websocket_client, a_lost_connection_is_reported_as_1006) {
  EXPECT_THAT(end_with([](raw_client& p, int) { p.hang_up(); }), StartsWith("closed 1006 "));
  EXPECT_THAT(end_with([](raw_client& p, int) {
                const std::string whole =
                    raw_client::frame(raw_client::text, "cut short", true, 0, false);
                p.send(whole.substr(0, whole.size() - 3));
                p.hang_up();
              }),
              StartsWith("closed 1006 "));
  EXPECT_THAT(end_with([](raw_client& p, int) { p.reset(); }), StartsWith("closed 1006 "));
}

TEST_F(websocket_client, responds_to_pings_and_close_frames) {
  ws_frame pong, farewell;
  EXPECT_EQ(end_with([&](raw_client& p, int) {
              p.send(raw_client::frame(raw_client::ping, "are you there", true, 0, false));
              pong = raw_server::read_masked(p);
              p.send(raw_client::frame(raw_client::close, std::string("\x0f\xa0", 2) + "bye", true,
                                       0, false));
              farewell = raw_server::read_masked(p);
              p.hang_up();
            }),
            "closed 4000 bye");
  EXPECT_EQ(pong.opcode, raw_client::pong);
  EXPECT_EQ(pong.payload, "are you there");
  EXPECT_EQ(farewell.opcode, raw_client::close);
  EXPECT_EQ(farewell.code(), 4000u);
}

TEST_F(websocket_client, pings_a_silent_peer_and_gives_it_up) {
  options_.websocket_limits.idle_timeout = 500ms;
  std::atomic<unsigned> heard{0};
  EXPECT_EQ(end_with([&](raw_client& p, int) {
              heard = raw_server::read_masked(p).opcode;
              p.read_to_end();
            }),
            "closed 1006 no data was received from the server in time");
  EXPECT_EQ(heard, raw_client::ping);
}

/// Takes one message, and blocks while it handles it.
class slow : public actor {
 public:
  slow(http::websocket, std::shared_ptr<diary> log, std::shared_ptr<std::atomic<bool>> go_on)
      : log_(std::move(log)), go_on_(std::move(go_on)) {}
  void on(http::text&& m) {
    kept_.push_back(std::move(m));
    if (*go_on_) kept_.clear();
    log_->write("text");
  }

 private:
  std::shared_ptr<diary> log_;
  std::shared_ptr<std::atomic<bool>> go_on_;
  std::vector<http::text> kept_;
};

TEST_F(websocket_client, holds_a_peer_back_that_floods) {
  options_.websocket_limits.receive_window = 4;
  std::atomic<int> refused{0};  // attempts in a row
  std::atomic<bool> over{false};
  const std::string message =
      raw_client::frame(raw_client::text, std::string(60'000, 'x'), true, 0, false);
  raw_server flooding([&](raw_client& p, int) {
    raw_server::agree(p);
    while (!over) refused = p.send_some(message) > 0 ? 0 : std::min(refused.load() + 1, 100'000);
  });
  const auto go_on = std::make_shared<std::atomic<bool>>(false);
  const connected got = open({flooding.websocket_url(), served_by<slow>(system_, log_, go_on)});
  ASSERT_TRUE(got) << error_text(got);
  EXPECT_EQ(log_->lines(4).size(), 4u);
  // The kernel's buffers of both ends are full, and nothing more is taken.
  EXPECT_TRUE(comes_true([&] { return refused == 100'000; }));
  EXPECT_EQ(log_->size(), 4u);
  over = true;
  got.socket.close();
}

TEST_F(websocket_client, a_peer_that_does_not_read_is_closed) {
  options_.websocket_limits.send_queue_bytes = 64 * 1024;
  options_.websocket_limits.close_timeout = 50ms;
  raw_server deaf([](raw_client& p, int) {
    raw_server::agree(p);
    p.readable_within(60s);  // and does not read more than that
    std::string all;
    while (p.readable_within(1s) && !p.was_reset() && all.size() < 1000) all += p.read_exactly(1);
    p.read_to_end();
  });
  const connected got = open(deaf.websocket_url());
  ASSERT_TRUE(got);
  const std::string data(60'000, 'x');
  while (got.socket.send(data) == delivery::accepted) {
  }
  EXPECT_THAT(log_->lines(1).back(), StartsWith("closed 1008 "));
}

TEST_F(websocket_client, a_session_that_ends_closes) {
  start(on_free_port(), [&](http::server& on) { on.websocket<listening>("/", log_); });
  struct leaving : actor {
    explicit leaving(http::websocket) { self(this).stop(); }
    void on(const http::text&) {}
  };
  ASSERT_TRUE(open({served_url("/"), served_by<leaving>(system_)}));
  EXPECT_THAT(log_->lines(1), ElementsAre("closed 1000 "));
}

TEST_F(websocket_client, a_session_that_fails_closes) {
  start(on_free_port(), [&](http::server& on) { on.websocket<listening>("/", log_); });
  struct failing : actor {
    explicit failing(http::websocket) { throw std::runtime_error("as told"); }
    void on(const http::text&) {}
  };
  (void)open({served_url("/"), served_by<failing>(system_)});
  EXPECT_THAT(log_->lines(1), ElementsAre("closed 1011 the session failed"));
}

TEST_F(websocket_client, ends_with_its_loop) {
  start(on_free_port(), [](http::server& on) { on.websocket<echo>("/echo"); });
  ASSERT_TRUE(open(served_url("/echo")));
  loop_.reset();
  EXPECT_THAT(log_->lines(1), ElementsAre("closed 1006 the connection was closed locally"));
}

}  // namespace
}  // namespace troupe::http::test
