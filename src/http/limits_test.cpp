// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

class limit : public served {
 protected:
  void serve(const http::limits& l) {
    http::options o = on_free_port();
    o.limits = l;
    start(std::move(o), [this](http::server& s) {
      s.route("GET", "/hello", [](const request&) { return response::text("hello\n"); });
      s.route("GET", "/large",
              [](const request&) { return response::text(std::string(32 * 1024 * 1024, 'x')); });
      s.route("POST", "/echo", [](const request& r) { return response::text(r.body()); });
      s.websocket<obedient>("/obey", log_);
    });
  }

  std::shared_ptr<diary> log_ = std::make_shared<diary>();
};

std::string post(std::size_t bytes) {
  return "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(bytes) +
         "\r\n\r\n";
}

TEST_F(limit, header_bytes) {
  serve({.header_bytes = 1024});
  raw_client c = connect();
  EXPECT_EQ(c.get("/hello", "X-Fill: " + std::string(800, 'x') + "\r\n").status, 200u);
  EXPECT_EQ(c.get("/hello", "X-Fill: " + std::string(1024, 'x') + "\r\n").status, 431u);
  c.read_to_end();
  EXPECT_FALSE(c.was_reset());
  EXPECT_EQ(connect().get("/" + std::string(2000, 'x')).status, 414u);

  // Whatever the size and the number of the pieces, the server does not wait for the end.
  raw_client endless = connect();
  endless.send("GET /hello HTTP/1.1\r\n");
  std::size_t sent = 0;
  while (!endless.readable_within(0ms)) sent += endless.send_some("X-More: more\r\n");
  EXPECT_EQ(endless.read_answer().status, 431u);
  EXPECT_LT(sent, 10u * 1024 * 1024);
  EXPECT_EQ(statistics().headers_too_large, 3u);
}

TEST_F(limit, body_bytes) {
  serve({.body_bytes = 1000});
  raw_client c = connect();
  c.send(post(1000) + std::string(1000, 'x'));
  EXPECT_EQ(c.read_answer().body.size(), 1000u);
  // An announced body is refused before it is read, and the response survives the data that the
  // client still sends.
  c.send(post(1001) + std::string(1001, 'x'));
  EXPECT_EQ(c.read_answer().status, 413u);
  c.read_to_end();
  EXPECT_FALSE(c.was_reset());
  // Chunks do not announce the size.
  raw_client chunks = connect();
  chunks.send("POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 11; ++i) chunks.send("64\r\n" + std::string(100, 'x') + "\r\n");
  EXPECT_EQ(chunks.read_answer().status, 413u);
  EXPECT_EQ(statistics().bodies_too_large, 2u);
}

TEST_F(limit, request_bodies_bytes) {
  serve({.body_bytes = 1000, .request_bodies_bytes = 1500});
  raw_client first = connect();
  first.send(post(1000) + std::string(900, 'x'));
  ASSERT_TRUE(comes_true([&] { return statistics().request_body_bytes >= 900; }));
  // Announced or in chunks, from any client: the memory is that of all together.
  raw_client second = connect();
  second.send(post(900) + std::string(900, 'x'));
  const answer refused = second.read_answer();
  EXPECT_EQ(refused.status, 503u);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(second.read_to_end(), "");
  raw_client chunks = connect();
  chunks.send("POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 9; ++i) chunks.send("64\r\n" + std::string(100, 'x') + "\r\n");
  EXPECT_EQ(chunks.read_answer().status, 503u);
  EXPECT_EQ(statistics().bodies_refused, 2u);
  EXPECT_EQ(connect().get("/hello").status, 200u);

  first.send(std::string(100, 'x'));
  EXPECT_EQ(first.read_answer().body.size(), 1000u);
  EXPECT_EQ(statistics().request_body_bytes, 0u);
  raw_client third = connect();
  third.send(post(1000) + std::string(1000, 'x'));
  EXPECT_EQ(third.read_answer().status, 200u);

  // A client that disconnects in the middle of a body leaves no bytes behind.
  raw_client gone = connect();
  gone.send(post(1000) + std::string(900, 'x'));
  ASSERT_TRUE(comes_true([&] { return statistics().request_body_bytes >= 900; }));
  gone.reset();
  EXPECT_TRUE(comes_true([&] { return statistics().request_body_bytes == 0; }));
}

TEST_F(limit, message_bytes) {
  serve({.message_bytes = 1000});
  raw_client c = open("/obey");
  c.say(std::string(1000, 'x'));
  EXPECT_EQ(c.hear(), "ok");
  c.say(std::string(1001, 'x'));
  EXPECT_EQ(c.read_close().code(), 1009u);
  c.hang_up();

  raw_client fragments = open("/obey");
  for (int i = 0; i < 11; ++i) {
    fragments.send(raw_client::frame(i == 0 ? raw_client::text : raw_client::continuation,
                                     std::string(100, 'x'), false));
  }
  EXPECT_EQ(fragments.read_close().code(), 1009u);
  fragments.hang_up();

  raw_client huge = open("/obey");  // announces 2^64 - 2^56 bytes
  huge.send("\x82\xff\xff" + std::string(7, '\0') + "mask");
  EXPECT_EQ(huge.read_close().code(), 1009u);
  huge.hang_up();
  EXPECT_TRUE(comes_true([&] { return statistics().messages_too_large == 3; }));
}

TEST_F(limit, partial_messages_bytes) {
  serve({.message_bytes = 100'000, .partial_messages_bytes = 100'000});
  const auto begin_message = [](raw_client& c, std::size_t bytes) {
    c.send(raw_client::frame(raw_client::text, std::string(bytes, 'x'), false));
  };
  const auto has_been_read = [](raw_client& c) {
    c.send(raw_client::frame(raw_client::ping, "there?"));
    EXPECT_EQ(c.read_frame().opcode, raw_client::pong);
  };
  const auto end_message = [](raw_client& c) {
    c.send(raw_client::frame(raw_client::continuation, "", true));
  };
  raw_client first = open("/obey");
  begin_message(first, 60'000);
  has_been_read(first);
  raw_client second = open("/obey");
  begin_message(second, 60'000);
  EXPECT_EQ(second.read_close().code(), 1013u);
  second.hang_up();
  EXPECT_EQ(statistics().messages_without_room, 1u);

  // Small messages do not count, and a complete message returns its bytes.
  raw_client third = open("/obey");
  begin_message(third, 3'000);
  end_message(third);
  EXPECT_EQ(third.hear(), "ok");
  end_message(first);
  EXPECT_EQ(first.hear(), "ok");
  begin_message(third, 60'000);
  has_been_read(third);

  // A client that disconnects in the middle of a message leaves no bytes behind.
  third.reset();
  ASSERT_TRUE(comes_true([&] { return statistics().websockets == 1; }));
  begin_message(first, 60'000);
  end_message(first);
  EXPECT_EQ(first.hear(), "ok");
  EXPECT_EQ(statistics().messages_without_room, 1u);
}

TEST_F(limit, upgrade_requests_bytes) {
  serve({.upgrade_requests_bytes = 20'000});
  const std::string large = "X-Large: " + std::string(10'000, 'x') + "\r\n";
  raw_client first = connect();
  EXPECT_EQ(first.upgrade("/obey", large).status, 101u);
  EXPECT_GE(statistics().upgrade_request_bytes, 8'000u);
  EXPECT_LE(statistics().upgrade_request_bytes, 10'000u);
  raw_client second = connect();
  EXPECT_EQ(second.upgrade("/obey", large).status, 101u);

  raw_client third = connect();
  const answer refused = third.upgrade("/obey", large);
  EXPECT_EQ(refused.status, 503u);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(refused.headers.at("connection"), "close");
  EXPECT_EQ(third.read_to_end(), "");
  EXPECT_EQ(statistics().upgrades_refused, 1u);
  EXPECT_EQ(statistics().websockets, 2u);

  // A usual one is not refused because others are large.
  raw_client usual = open("/obey");
  usual.say("hello");
  EXPECT_EQ(usual.hear(), "ok");

  // One that ends gives its room back, in order or not.
  first.send(raw_client::frame(raw_client::close, raw_client::close_payload(1000)));
  EXPECT_EQ(first.read_frame().opcode, raw_client::close);
  first.hang_up();
  ASSERT_TRUE(comes_true([&] { return statistics().upgrade_request_bytes <= 10'000; }));
  raw_client fourth = connect();
  EXPECT_EQ(fourth.upgrade("/obey", large).status, 101u);
  second.reset();
  fourth.reset();
  EXPECT_TRUE(comes_true([&] { return statistics().upgrade_request_bytes == 0; }));
  EXPECT_EQ(statistics().upgrades_refused, 1u);
}

TEST_F(limit, connections_max) {
  serve({.connections_max = 3});
  std::vector<raw_client> inside;
  for (int i = 0; i < 3; ++i) {
    inside.push_back(connect());
    ASSERT_EQ(inside.back().get("/hello").status, 200u);
  }
  raw_client outside = connect();
  EXPECT_EQ(outside.read_answer().status, 503u);
  EXPECT_EQ(outside.read_to_end(), "");
  EXPECT_EQ(statistics().refused_full, 1u);
  EXPECT_EQ(statistics().connections, 3u);

  inside.pop_back();
  ASSERT_TRUE(comes_true([&] { return statistics().connections == 2; }));
  EXPECT_EQ(connect().get("/hello").status, 200u);
}

TEST_F(limit, refused_connections_do_not_pile_up) {
  serve({.connections_max = 1, .close_timeout = 60s});
  raw_client inside = connect();
  ASSERT_EQ(inside.get("/hello").status, 200u);
  // Each gets a response and stays open on its own side. Beyond a number they are just closed.
  std::vector<raw_client> outside;
  for (int i = 0; i < 200; ++i) outside.push_back(connect());
  ASSERT_TRUE(comes_true([&] { return statistics().refused_full == 200; }));
  std::size_t told = 0;
  for (raw_client& c : outside) told += !c.read_to_end().empty();
  EXPECT_EQ(told, 64u);
  EXPECT_EQ(inside.get("/hello").status, 200u);
}

TEST_F(limit, every_connection_over_the_limit_gets_a_503) {
  serve({.connections_max = 1});
  raw_client inside = connect();
  ASSERT_EQ(inside.get("/hello").status, 200u);
  for (std::uint64_t i = 1; i <= 150; ++i) {
    raw_client outside = connect();
    ASSERT_EQ(outside.read_answer().status, 503u) << i;
    outside.hang_up();
    ASSERT_TRUE(comes_true([&] { return statistics().refused_full == i; }));
  }
  EXPECT_EQ(inside.get("/hello").status, 200u);
}

TEST_F(limit, connections_per_address_max) {
  serve({.connections_max = 10, .connections_per_address_max = 2});
  raw_client first = connect();
  raw_client second = connect();
  EXPECT_EQ(first.get("/hello").status, 200u);
  EXPECT_EQ(second.get("/hello").status, 200u);
  EXPECT_EQ(connect().read_answer().status, 503u);
  EXPECT_EQ(statistics().refused_per_address, 1u);
}

TEST_F(limit, handshake_timeout_closes_silent_connections) {
  serve({.handshake_timeout = 200ms});
  raw_client c = connect();
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_EQ(statistics().requests_timed_out, 1u);
}

TEST_F(limit, handshake_timeout_ends_slow_request_headers) {
  serve({.handshake_timeout = 300ms});
  raw_client c = connect();
  c.send("GET /hello HTTP/1.1\r\n");
  // Header lines follow each other forever. The response comes all the same.
  while (!c.readable_within(20ms)) c.send_some("X: y\r\n");
  EXPECT_EQ(c.read_answer().status, 408u);
  EXPECT_EQ(statistics().requests_timed_out, 1u);
}

TEST_F(limit, request_time_holds_for_bodies_and_later_requests) {
  serve({.request_timeout = 1s});  // the time for a whole request
  raw_client body = connect();
  body.send(post(1000));
  while (!body.readable_within(20ms)) body.send_some("x");
  EXPECT_EQ(body.read_answer().status, 408u);

  raw_client later = connect();
  EXPECT_EQ(later.get("/hello").status, 200u);
  later.send("GET /hel");
  EXPECT_EQ(later.read_answer().status, 408u);
  EXPECT_EQ(statistics().requests_timed_out, 2u);
}

TEST_F(limit, idle_time_ends_a_kept_connection) {
  serve({.idle_timeout = 200ms});
  raw_client c = connect();
  EXPECT_EQ(c.get("/hello").status, 200u);
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_FALSE(c.was_reset());
  EXPECT_EQ(statistics().idle_closed, 1u);
}

TEST_F(limit, idle_timeout_closes_a_response_that_is_not_read) {
  serve({.idle_timeout = 300ms});
  raw_client c{server_->port(), 4096};
  c.send("GET /large HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_TRUE(comes_true([&] { return statistics().idle_closed == 1; }));
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_LT(statistics().bytes_out, 32u * 1024 * 1024);
}

TEST_F(limit, read_bytes_per_second_closes_a_response_that_is_read_too_slowly) {
  serve({.idle_timeout = 300ms, .read_bytes_per_second = 90 * 1024 * 1024});
  raw_client c{server_->port(), 64 * 1024};
  c.send("GET /large HTTP/1.1\r\nHost: here\r\n\r\n");
  // At most 16 KiB in a millisecond. The socket makes progress all the time.
  bool is_over = false;
  EXPECT_TRUE(comes_true([&] {
    if (!is_over && c.readable_within(0ms)) is_over = c.read_some().empty();
    return statistics().idle_closed == 1;
  }));
  EXPECT_LT(statistics().bytes_out, 32u * 1024 * 1024);
}

TEST_F(limit, idle_time_pings_and_then_cuts_a_silent_websocket) {
  serve({.idle_timeout = 400ms});
  raw_client c = open("/obey");
  EXPECT_EQ(c.read_frame().opcode, raw_client::ping);
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_TRUE(c.was_reset());
  EXPECT_THAT(log_->lines(3),
              testing::ElementsAre(
                  "opened", "closed 1006 no data was received from the client in time", "ended"));
  EXPECT_EQ(statistics().idle_closed, 1u);
}

TEST_F(limit, a_websocket_that_answers_pings_stays_open) {
  serve({.idle_timeout = 2s});
  raw_client c = open("/obey");
  for (int i = 0; i < 3; ++i) {
    const ws_frame f = c.read_frame();
    ASSERT_EQ(f.opcode, raw_client::ping);
    c.send(raw_client::frame(raw_client::pong, f.payload));
  }
  EXPECT_EQ(statistics().idle_closed, 0u);
  c.say("hello");
  EXPECT_EQ(c.hear(), "ok");
}

TEST_F(limit, request_timeout_closes_a_websocket_whose_message_is_too_slow) {
  serve({.request_timeout = 300ms});
  const auto expect_closed = [&](raw_client& c, const std::string& begin, const std::string& more) {
    c.send(begin);
    while (!c.readable_within(10ms)) c.send_some(more);
    ws_frame last = c.read_frame();
    while (last.opcode == raw_client::pong) last = c.read_frame();
    EXPECT_EQ(last.opcode, raw_client::close);
    EXPECT_EQ(last.code(), 1008u);
    EXPECT_EQ(last.payload.substr(2), "a message was not complete in time");
    c.hang_up();
  };
  // A frame byte by byte, fragments of a message without end, and only the beginning of a head.
  raw_client bytes = open("/obey");
  expect_closed(bytes,
                raw_client::frame(raw_client::binary, std::string(60'000, 'x')).substr(0, 20), "x");
  raw_client parts = open("/obey");
  std::string first = raw_client::frame(raw_client::text, "a"), next = raw_client::frame(0, "b");
  first[0] = static_cast<char>(first[0] & 0x7f);
  next[0] = static_cast<char>(next[0] & 0x7f);
  expect_closed(parts, first, next);
  raw_client head = open("/obey");
  expect_closed(head, first.substr(0, 1), "");
  EXPECT_EQ(statistics().requests_timed_out, 3u);

  // A client that is silent, or sends a whole message now and then, stays.
  raw_client usual = open("/obey");
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(usual.readable_within(200ms));
    usual.say("hello");
    EXPECT_EQ(usual.hear(), "ok");
  }
  EXPECT_EQ(statistics().requests_timed_out, 3u);
}

// Sends much at once.
class talkative : public actor {
 public:
  explicit talkative(http::websocket client) : client_(std::move(client)) {}
  void on(http::text) {
    for (int i = 0; i < 1024; ++i) client_.send(std::string(8 * 1024, 'x'));
  }

 private:
  http::websocket client_;
};

TEST_F(limit, idle_time_ends_a_websocket_that_reads_next_to_nothing) {
  http::options o = on_free_port();
  o.limits.idle_timeout = 300ms;
  o.limits.close_timeout = 200ms;
  o.limits.send_queue_bytes = 16 * 1024 * 1024;
  start(std::move(o), [](http::server& s) { s.websocket<talkative>("/talk"); });
  raw_client c{server_->port(), 4096};
  ASSERT_EQ(c.upgrade("/talk").status, 101u);
  c.say("go");
  // It sends all the time, and does not read.
  EXPECT_TRUE(comes_true([&] {
    c.send_some(raw_client::frame(raw_client::pong, ""));
    return statistics().slow_readers_closed == 1;
  }));
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().idle_closed, 0u);
}

TEST_F(limit, close_timeout_ends_an_incomplete_closing_handshake) {
  serve({.close_timeout = 300ms});
  raw_client c = open("/obey");
  c.say("close");
  EXPECT_EQ(c.hear(), "bye");
  EXPECT_EQ(c.read_frame().code(), 4000u);  // and gets no reply
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_THAT(log_->lines(4),
              testing::ElementsAre("opened", "text close", "closed 4000 as told", "ended"));

  raw_client half = open("/obey");
  half.send(raw_client::frame(raw_client::close, raw_client::close_payload(1000)));
  EXPECT_EQ(half.read_frame().code(), 1000u);  // but its socket stays open
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().close_timed_out, 2u);
}

TEST(limits, a_limit_of_zero_is_refused) {
  troupe::system system{{.workers = 1}};
  const auto refuses = [&](http::options o) {
    EXPECT_THROW((http::server{system, std::move(o)}), std::invalid_argument);
  };
  refuses({.limits = {.header_bytes = 0}});
  refuses({.limits = {.body_bytes = 0}});
  refuses({.limits = {.request_bodies_bytes = 0}});
  refuses({.limits = {.message_bytes = 0}});
  refuses({.limits = {.connections_max = 0}});
  refuses({.limits = {.connections_per_address_max = 0}});
  refuses({.limits = {.handshake_timeout = 0ms}});
  refuses({.limits = {.request_timeout = 0ms}});
  refuses({.limits = {.idle_timeout = 0ms}});
  refuses({.limits = {.close_timeout = 0ms}});
  refuses({.limits = {.drain_timeout = 0ms}});
  refuses({.limits = {.send_queue_bytes = 0}});
  refuses({.limits = {.send_queues_bytes = 0}});
  refuses({.limits = {.partial_messages_bytes = 0}});
  refuses({.limits = {.upgrade_requests_bytes = 0}});
  refuses({.limits = {.read_bytes_per_second = 0}});
  refuses({.limits = {.receive_window = 0}});
  refuses({.loops = 0});
  refuses({.allowed_origins = {"not an origin"}});
}

}  // namespace
}  // namespace troupe::http::test
