// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

using testing::ElementsAre;

/// Knows only binary messages.
class binary_only : public actor {
 public:
  explicit binary_only(http::websocket) {}
  void on(const http::binary&) {}
};

class refuses_to_be_made : public actor {
 public:
  explicit refuses_to_be_made(http::websocket) { throw std::runtime_error("no"); }
  void on(const http::text&) {}
};

/// Sends many messages at once: text and binary, owned and shared.
class chatterbox : public actor {
 public:
  explicit chatterbox(http::websocket client) : client_(std::move(client)) {}
  void on(const http::text&) {
    const auto shared = std::make_shared<const std::string>("shared");
    for (int i = 0; i < 500; ++i) {
      client_.send(std::to_string(i));
      client_.send(shared);
      client_.send_binary(std::string(3, 'b'));
    }
    client_.close(4001, "that was all");
  }

 private:
  http::websocket client_;
};

class websocket_server : public served {
 protected:
  void SetUp() override {
    start(on_free_port(), [this](http::server& s) {
      s.websocket<echo>("/echo");
      s.websocket<obedient>("/obey", log_);
      s.websocket<binary_only>("/binary");
      s.websocket<refuses_to_be_made>("/impossible");
      s.websocket<chatterbox>("/chatter");
      s.route("GET", "/echo", [](const request&) { return response::text("a page"); });
    });
  }

  std::shared_ptr<diary> log_ = std::make_shared<diary>();
};

TEST_F(websocket_server, accepts_as_the_standard_shows_it) {
  raw_client c = connect();
  const answer a = c.upgrade("/echo");
  EXPECT_EQ(a.status, 101u);
  EXPECT_EQ(a.headers.at("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(a.headers.at("server"), "Troupe");
}

TEST_F(websocket_server, echoes_text_and_binary_in_order) {
  raw_client c = open("/echo");
  for (int i = 0; i < 1000; ++i) {
    c.send(
        raw_client::frame(i % 2 == 0 ? raw_client::text : raw_client::binary, std::to_string(i)));
  }
  for (int i = 0; i < 1000; ++i) {
    const ws_frame f = c.read_frame();
    ASSERT_EQ(f.payload, std::to_string(i));
    ASSERT_EQ(f.opcode, i % 2 == 0 ? raw_client::text : raw_client::binary);
  }
}

TEST_F(websocket_server, messages_of_every_size_arrive_complete) {
  raw_client c = open("/echo");
  for (const std::size_t size : {0u, 1u, 125u, 126u, 127u, 4095u, 4096u, 4097u, 65535u, 65536u}) {
    const std::string message(size, 'x');
    c.say(message);
    const ws_frame f = c.read_frame();
    ASSERT_EQ(f.payload, message);
    ASSERT_TRUE(f.fin);
  }
}

TEST_F(websocket_server, puts_fragments_together_around_control_frames) {
  raw_client c = open("/echo");
  c.send(raw_client::frame(raw_client::text, "one ", false));
  c.send(raw_client::frame(raw_client::ping, "here?"));
  c.send(raw_client::frame(raw_client::continuation, "", false));
  c.send(raw_client::frame(raw_client::continuation, "tw\xc3",
                           false));  // in the middle of a character
  c.send(raw_client::frame(raw_client::continuation, "\xb6", true));
  const ws_frame pong = c.read_frame();
  EXPECT_EQ(pong.opcode, raw_client::pong);
  EXPECT_EQ(pong.payload, "here?");
  EXPECT_EQ(c.hear(), "one tw\xc3\xb6");
}

TEST_F(websocket_server, a_frame_may_arrive_byte_by_byte) {
  raw_client c = open("/echo");
  for (const char byte : raw_client::frame(raw_client::text, "slowly")) c.send({&byte, 1});
  EXPECT_EQ(c.hear(), "slowly");
}

TEST_F(websocket_server, messages_queued_while_writing_are_sent_next) {
  raw_client c = open("/chatter");
  c.say("go");
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(c.hear(), std::to_string(i));
    ASSERT_EQ(c.hear(), "shared");
    const ws_frame f = c.read_frame();
    ASSERT_EQ(f.opcode, raw_client::binary);
    ASSERT_EQ(f.payload, "bbb");
  }
  EXPECT_EQ(c.read_close().code(), 4001u);
}

TEST_F(websocket_server, a_page_and_its_websocket_share_a_path) {
  raw_client c = connect();
  EXPECT_EQ(c.get("/echo").body, "a page");
  EXPECT_EQ(c.get("/obey").status, 426u);
  EXPECT_EQ(c.get("/obey").headers.at("upgrade"), "websocket");
  EXPECT_EQ(c.upgrade("/echo").status, 101u);  // on the same connection
}

TEST_F(websocket_server, invalid_handshakes_are_refused_with_400_or_426) {
  const std::string head =
      "GET /echo HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\n"
      "Upgrade: websocket\r\n";
  raw_client no_key = connect();
  no_key.send(head + "Sec-WebSocket-Version: 13\r\n\r\n");
  EXPECT_EQ(no_key.read_answer().status, 400u);
  EXPECT_FALSE((no_key.half_close(), no_key.read_to_end(), no_key.was_reset()));

  raw_client old = connect();
  old.send(head +
           "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  const answer a = old.read_answer();
  EXPECT_EQ(a.status, 426u);
  EXPECT_EQ(a.headers.at("sec-websocket-version"), "13");

  raw_client eager = connect();
  eager.send(head +
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
             raw_client::frame(raw_client::text, "already"));
  EXPECT_EQ(eager.read_answer().status, 400u);
  EXPECT_EQ(statistics().upgraded, 0u);
}

TEST_F(websocket_server, a_close_from_the_client_is_echoed_with_its_code) {
  raw_client c = open("/obey");
  c.send(raw_client::frame(raw_client::close, raw_client::close_payload(4123, "done")));
  EXPECT_EQ(c.read_frame().code(), 4123u);
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_FALSE(c.was_reset());
  c.hang_up();
  EXPECT_THAT(log_->lines(3), ElementsAre("opened", "closed 4123 done", "ended"));
}

TEST_F(websocket_server, a_close_without_a_code_is_1005) {
  raw_client c = open("/obey");
  c.send(raw_client::frame(raw_client::close, ""));
  EXPECT_EQ(c.read_frame().opcode, raw_client::close);
  c.hang_up();
  EXPECT_THAT(log_->lines(3), ElementsAre("opened", "closed 1005 ", "ended"));
}

TEST_F(websocket_server, a_session_closes_after_its_last_message_is_sent) {
  raw_client c = open("/obey");
  c.say("close");
  EXPECT_EQ(c.hear(), "bye");
  const ws_frame f = c.read_close();
  EXPECT_EQ(f.code(), 4000u);
  EXPECT_EQ(f.payload.substr(2), "as told");
  c.hang_up();
  EXPECT_THAT(log_->lines(4), ElementsAre("opened", "text close", "closed 4000 as told", "ended"));
}

TEST_F(websocket_server, a_session_that_ends_closes_with_1000) {
  raw_client c = open("/obey");
  c.say("stop");
  EXPECT_EQ(c.hear(), "bye");
  EXPECT_EQ(c.read_close().code(), 1000u);
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_THAT(log_->lines(3), ElementsAre("opened", "text stop", "ended"));
}

TEST_F(websocket_server, a_session_that_fails_closes_with_1011) {
  raw_client c = open("/obey");
  c.say("throw");
  EXPECT_EQ(c.read_close().code(), 1011u);
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_THAT(log_->lines(2), ElementsAre("opened", "text throw"));

  raw_client never = open("/impossible");
  EXPECT_EQ(never.read_close().code(), 1011u);
}

TEST_F(websocket_server, an_unsupported_message_type_closes_with_1003) {
  raw_client c = open("/binary");
  c.send(raw_client::frame(raw_client::binary, "fine"));
  c.say("text");
  EXPECT_EQ(c.read_close().code(), 1003u);
}

TEST_F(websocket_server, a_client_that_vanishes_is_1006_once) {
  raw_client c = open("/obey");
  c.hang_up();
  EXPECT_THAT(log_->lines(3), ElementsAre("opened", "closed 1006 End of file", "ended"));

  raw_client hard = open("/obey");
  hard.reset();
  const auto lines = log_->lines(6);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_TRUE(lines[4].starts_with("closed 1006")) << lines[4];
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().websockets, 0u);
}

TEST_F(websocket_server, closed_is_reported_once_even_if_several_ends_coincide) {
  // Both sides close, the session stops and the socket is closed, all at the same time.
  constexpr std::size_t rounds = 200;
  for (std::size_t i = 0; i < rounds; ++i) {
    raw_client c = open("/obey");
    c.say(i % 2 == 0 ? "close" : "hello");
    c.send_some(raw_client::frame(raw_client::close, raw_client::close_payload(1000)));
    if (i % 3 == 0) c.reset();
  }
  ASSERT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  std::size_t opened = 0, ended = 0, closed = 0;
  ASSERT_TRUE(comes_true([&] {
    opened = ended = closed = 0;
    for (const std::string& line : log_->lines(0)) {
      opened += line == "opened";
      ended += line == "ended";
      closed += line.starts_with("closed");
    }
    return ended == opened;
  }));
  EXPECT_EQ(closed, opened);
}

// ── Subprotocols ──────────────────────────────────────────────────────────────────────────────

/// Reports the chosen subprotocol.
class polyglot : public actor {
 public:
  explicit polyglot(const http::websocket& client) {
    client.send("we speak '" + std::string{client.protocol()} + "'");
  }
  void on(const http::text&) {}
};

class websocket_protocols : public served {
 protected:
  void serve(bool required) {
    start(on_free_port(), [&](http::server& s) {
      s.websocket<polyglot>("/talk", http::websocket_options{.protocols = {"chat.v2", "chat.v1"},
                                                             .require_protocol = required});
      s.websocket<polyglot>("/plain");
    });
  }
  /// The session's report, and the header.
  std::string talk(const std::string& path, const std::string& offers) {
    raw_client c = connect();
    const answer a = c.upgrade(path, offers);
    EXPECT_EQ(a.status, 101u);
    const auto header = a.headers.find("sec-websocket-protocol");
    return c.hear() + (header == a.headers.end() ? " without a header" : " as " + header->second);
  }
};

TEST_F(websocket_protocols, the_clients_first_that_is_understood_is_agreed_on) {
  serve(false);
  EXPECT_EQ(talk("/talk", "Sec-WebSocket-Protocol: chat.v1, chat.v2\r\n"),
            "we speak 'chat.v1' as chat.v1");
  EXPECT_EQ(talk("/talk", "Sec-WebSocket-Protocol: mqtt\r\nSec-WebSocket-Protocol: chat.v2\r\n"),
            "we speak 'chat.v2' as chat.v2");
}

TEST_F(websocket_protocols, a_client_without_a_known_protocol_is_served_without_one) {
  serve(false);
  EXPECT_EQ(talk("/talk", ""), "we speak '' without a header");
  EXPECT_EQ(talk("/talk", "Sec-WebSocket-Protocol: mqtt\r\n"), "we speak '' without a header");
  EXPECT_EQ(talk("/plain", "Sec-WebSocket-Protocol: chat.v1\r\n"), "we speak '' without a header");
}

TEST_F(websocket_protocols, a_client_without_a_required_protocol_gets_400_and_the_list) {
  serve(true);
  EXPECT_EQ(talk("/talk", "Sec-WebSocket-Protocol: chat.v2\r\n"), "we speak 'chat.v2' as chat.v2");
  raw_client c = connect();
  const answer a = c.upgrade("/talk", "Sec-WebSocket-Protocol: mqtt\r\n");
  EXPECT_EQ(a.status, 400u);
  EXPECT_THAT(a.body, testing::HasSubstr("chat.v2, chat.v1"));
  EXPECT_EQ(statistics().malformed_requests, 1u);
  EXPECT_EQ(c.upgrade("/talk", "Sec-WebSocket-Protocol: chat.v1\r\n").status, 101u);
}

TEST_F(websocket_protocols, have_names_that_are_valid_in_a_header) {
  http::server s{system_, on_free_port()};
  for (const std::string bad : {"", "two words", "a,b", "a\r\nb", "gr\xc3\xbc\xc3\x9f"}) {
    EXPECT_THROW(s.websocket<polyglot>("/talk", http::websocket_options{.protocols = {bad}}),
                 std::invalid_argument)
        << bad;
  }
  EXPECT_THROW(s.websocket<polyglot>("/talk", http::websocket_options{.require_protocol = true}),
               std::invalid_argument);
}

/// Reports the request headers that it can see.
class nosy : public actor {
 public:
  explicit nosy(const http::websocket& client) {
    const request& asked = client.upgrade_request();
    client.send(std::string{asked.target()} + " " + asked.parameter("b").value_or("none") + " " +
                std::string{asked.header("cookie")} + " " + std::string{asked.header("x-other")} +
                " " + std::string{asked.header("host")} + " " + std::string{client.peer()});
  }
  void on(const http::text&) {}
};

TEST(websocket_request, has_the_headers_that_are_to_be_kept) {
  troupe::system system{{.workers = 2}};
  http::server server(system, {.port = 0});
  server.websocket<nosy>("/all");
  server.websocket<nosy>("/some", http::websocket_options{.kept_headers = {{"Cookie"}}});
  server.start();
  const auto heard = [&](const std::string& target) {
    raw_client c{server.port()};
    EXPECT_EQ(c.upgrade(target, "Cookie: c\r\nX-Other: x\r\n").status, 101u);
    return c.hear();
  };
  EXPECT_EQ(heard("/all?b=1"), "/all?b=1 1 c x here 127.0.0.1");
  EXPECT_EQ(heard("/some?b=1"), "/some?b=1 1 c   127.0.0.1");
}

TEST(websocket_request, has_the_first_of_several_headers_of_one_name) {
  troupe::system system{{.workers = 2}};
  http::server server(system, {.port = 0});
  server.websocket<nosy>("/all");
  server.start();
  std::string many = "x-other: 1\r\n";
  for (int i = 0; i < 500; ++i) many += "A: b\r\nb: c\r\nX-OTHER: 2\r\n";
  raw_client c{server.port()};
  EXPECT_EQ(c.upgrade("/all", many + "Cookie: c\r\n").status, 101u);
  EXPECT_EQ(c.hear(), "/all none c 1 here 127.0.0.1");
  EXPECT_EQ(server.statistics().upgrade_request_bytes, 0u) << "the others are not kept";
}

TEST(websocket_request, counts_with_the_headers_that_are_kept) {
  troupe::system system{{.workers = 2}};
  http::server server(system, {.port = 0, .limits = {.upgrade_requests_bytes = 20'000}});
  server.websocket<nosy>("/all");
  server.websocket<nosy>("/some", http::websocket_options{.kept_headers = {{"Cookie"}}});
  server.start();
  const std::string large = "X-Large: " + std::string(10'000, 'x') + "\r\n";
  std::vector<raw_client> all;
  for (int i = 0; i < 5; ++i) {
    all.emplace_back(server.port());
    EXPECT_EQ(all.back().upgrade("/some", large).status, 101u);
  }
  EXPECT_EQ(server.statistics().upgrade_request_bytes, 0u);
  raw_client c{server.port()};
  EXPECT_EQ(c.upgrade("/all", large).status, 101u);
  EXPECT_GE(server.statistics().upgrade_request_bytes, 8'000u);
}

/// Leaves its handle to others.
class keeper : public actor {
 public:
  keeper(http::websocket client, const std::shared_ptr<std::promise<http::websocket>>& to) {
    to->set_value(std::move(client));
  }
  void on(const http::text&) {}
};

TEST(websocket_request, counts_as_long_as_a_handle_keeps_it) {
  troupe::system system{{.workers = 2}};
  http::server server(system, {.port = 0});
  const auto promise = std::make_shared<std::promise<http::websocket>>();
  server.websocket<keeper>("/keep", promise);
  server.start();
  raw_client c{server.port()};
  EXPECT_EQ(c.upgrade("/keep", "X-Large: " + std::string(5'000, 'x') + "\r\n").status, 101u);
  http::websocket kept = promise->get_future().get();
  c.reset();
  ASSERT_TRUE(comes_true([&] { return server.statistics().connections == 0; }));
  EXPECT_GE(server.statistics().upgrade_request_bytes, 3'000u);
  EXPECT_EQ(kept.upgrade_request().header("x-large").size(), 5'000u);
  kept = {};
  EXPECT_TRUE(comes_true([&] { return server.statistics().upgrade_request_bytes == 0; }));
}

TEST_F(websocket_server, other_origins_are_403) {
  raw_client c = connect();
  EXPECT_EQ(c.upgrade("/echo", "Origin: http://evil.example\r\n").status, 403u);
  EXPECT_EQ(c.upgrade("/echo", "Origin: null\r\n").status, 403u);
  EXPECT_EQ(statistics().refused_origin, 2u);
  EXPECT_EQ(c.upgrade("/echo", "Origin: http://here\r\n").status, 403u);
  EXPECT_EQ(c.upgrade("/echo", "Origin: https://here\r\n").status, 101u);
}

}  // namespace
}  // namespace troupe::http::test
