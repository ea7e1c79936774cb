// SPDX-License-Identifier: Apache-2.0

#include "connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/socket_base.hpp>
#include <boost/beast/_experimental/test/stream.hpp>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "http_steps.hpp"
#include "raw_client.hpp"
#include "websocket_steps.hpp"

// A connection over a stream that is not a socket: everything on one thread, step by step.

namespace troupe::http::detail {
namespace {

using testing::HasSubstr;

/// Beast's stream in memory, with the other functions that a connection requires of a stream.
class memory_stream : public beast::test::stream {
 public:
  using base = beast::test::stream;

  /// The fate of operations.
  enum class fate { as_usual, no_memory, dropped };

  memory_stream(net::io_context& on, std::shared_ptr<fate> reads, std::shared_ptr<fate> writes)
      : base(on), reads_(std::move(reads)), writes_(std::move(writes)) {}

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    begin(*reads_, std::forward<Handler>(handler),
          [&](auto&& its) { base::async_read_some(buffers, std::forward<decltype(its)>(its)); });
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    begin(*writes_, std::forward<Handler>(handler),
          [&](auto&& its) { base::async_write_some(buffers, std::forward<decltype(its)>(its)); });
  }
  void close(net::error_code&) { base::close(); }
  void cancel(net::error_code&) { base::close(); }
  void shutdown(boost::asio::socket_base::shutdown_type, net::error_code&) { base::close_remote(); }
  void set_option(const boost::asio::socket_base::linger&, net::error_code&) {}

 private:
  template <class Handler, class Operation>
  static void begin(fate its, Handler&& handler, Operation&& operation) {
    switch (its) {
      case fate::as_usual:
        return operation(std::forward<Handler>(handler));
      case fate::no_memory:
        throw std::bad_alloc();
      case fate::dropped: {
        [[maybe_unused]] const auto gone = std::forward<Handler>(handler);
        return;
      }
    }
  }

  std::shared_ptr<fate> reads_, writes_;
};

class parrot : public actor {
 public:
  explicit parrot(http::websocket client) : client_(std::move(client)) {}
  void on(const text& m) { client_.send(m.data + m.data); }

 private:
  http::websocket client_;
};

class connection_in_memory : public testing::Test {
 protected:
  using connection = basic_connection<memory_stream>;

  connection_in_memory() {
    server_->routes.add("GET", "/hello", [](const request&) { return response::text("hello\n"); });
    server_->routes.add("/parrot", [this](http::websocket client) {
      return std::make_unique<session_of<parrot>>(
          system_.spawn<parrot>({.where = bound_to(pump_)}, std::move(client)));
    });
    memory_stream server{context_, reads_, writes_};
    client_.connect(server);
    connection_ = system_.spawn<connection>({.where = bound_to(pump_)}, server_, std::move(server),
                                            ip_address(), connection::entry::admitted, pump_);
  }

  ~connection_in_memory() override {
    connection_.stop_now();
    run();
  }

  /// Runs everything that follows from the input so far.
  void run() {
    do {
      context_.restart();
    } while (pump_.run_until_idle() + context_.poll() > 0);
  }
  std::string exchange(const std::string& words) {
    client_.write_some(boost::asio::buffer(words));
    run();
    std::string heard{client_.str()};
    client_.clear();
    return heard;
  }

  static std::string upgrade_to(const std::string& path) {
    return "GET " + path +
           " HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\n"
           "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  }

  net::io_context context_{1};
  std::vector<std::string> failures_;
  troupe::system system_{
      {.workers = 1, .on_failure = [this](const failure& f) { failures_.emplace_back(f.what); }}};
  pump pump_{system_};
  using fate = memory_stream::fate;
  std::shared_ptr<fate> reads_ = std::make_shared<fate>(fate::as_usual);
  std::shared_ptr<fate> writes_ = std::make_shared<fate>(fate::as_usual);
  std::shared_ptr<server_context> server_ =
      std::make_shared<server_context>(system_, http::options{});
  beast::test::stream client_{context_};
  ref<connection> connection_;
};

TEST_F(connection_in_memory, speaks_http) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(exchange("GET /hello HTTP/1.1\r\nHost: here\r\n\r\n"),
                HasSubstr("\r\n\r\nhello\n"));
  }
  EXPECT_THAT(exchange("GET /nothing HTTP/1.1\r\nHost: here\r\n\r\n"), HasSubstr("404 Not Found"));
}

TEST_F(connection_in_memory, reads_the_last_chunk_byte_by_byte) {
  server_->routes.add("POST", "/hello", [](const request& r) { return response::text(r.body()); });
  EXPECT_EQ(exchange("POST /hello HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "");
  EXPECT_EQ(exchange("2\r\nhi\r\n"), "");
  for (const char* byte : {"0", "\r", "\n", "\r"}) EXPECT_EQ(exchange(byte), "");
  EXPECT_THAT(exchange("\n"), HasSubstr("\r\n\r\nhi"));

  EXPECT_EQ(exchange("POST /hello HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "");
  for (const char* byte : {"0", "\r", "\n", "\r"}) EXPECT_EQ(exchange(byte), "");
  EXPECT_THAT(exchange("\n"), HasSubstr("200 OK"));
}

TEST_F(connection_in_memory, header_bytes_limits_request_line_and_headers_together) {
  const std::size_t half = server_->limits().header_bytes * 3 / 5;
  const std::string line = "GET /hello?" + std::string(half, 'x') + " HTTP/1.1\r\n";
  const std::string headers = "Host: here\r\nX: " + std::string(half, 'x') + "\r\n\r\n";
  EXPECT_EQ(exchange(line), "");
  EXPECT_THAT(exchange(headers), HasSubstr("431 Request Header Fields Too Large"));
  EXPECT_EQ(server_->counts.headers_too_large.value(), 1u);
}

TEST_F(connection_in_memory, counts_early_websocket_data_as_one_malformed_request) {
  EXPECT_THAT(exchange(upgrade_to("/parrot") + "x"), HasSubstr("400 Bad Request"));
  EXPECT_EQ(server_->counts.requests.value(), 1u);
  EXPECT_EQ(server_->counts.malformed_requests.value(), 1u);
}

TEST_F(connection_in_memory, counts_a_websocket_request_with_a_body_as_malformed) {
  std::string asked = upgrade_to("/parrot");
  asked.insert(asked.size() - 2, "Content-Length: 1\r\n");
  EXPECT_THAT(exchange(asked + "x"), HasSubstr("400 Bad Request"));
  EXPECT_EQ(server_->counts.requests.value(), 1u);
  EXPECT_EQ(server_->counts.malformed_requests.value(), 1u);
}

TEST_F(connection_in_memory, announces_the_close_after_an_unsupported_websocket_version) {
  std::string asked = upgrade_to("/parrot");
  asked.replace(asked.find("Version: 13"), 11, "Version: 12");
  const std::string answer = exchange(asked);
  EXPECT_THAT(answer, HasSubstr("426 Upgrade Required"));
  EXPECT_THAT(answer, HasSubstr("Connection: upgrade, close"));
}

TEST_F(connection_in_memory, speaks_websocket) {
  EXPECT_THAT(exchange(upgrade_to("/parrot")), HasSubstr("101 Switching Protocols"));
  using test::raw_client;
  EXPECT_EQ(exchange(raw_client::frame(raw_client::text, "ha")), "\x81\x04haha");
  EXPECT_EQ(exchange(raw_client::frame(raw_client::ping, "?")), "\x8a\x01?");
}

TEST_F(connection_in_memory, refuses_a_text_that_ends_within_a_character) {
  using test::raw_client;
  exchange(upgrade_to("/parrot"));
  EXPECT_EQ(exchange(raw_client::frame(raw_client::text, "\xc3", false)), "");
  EXPECT_EQ(exchange(raw_client::frame(raw_client::continuation, "\xa4", false)), "");
  EXPECT_EQ(exchange(raw_client::frame(raw_client::continuation, "")), "\x81\x04\xc3\xa4\xc3\xa4");

  EXPECT_EQ(exchange(raw_client::frame(raw_client::text, "a\xc3", false)), "");
  const std::string answer = exchange(raw_client::frame(raw_client::continuation, ""));
  EXPECT_TRUE(answer.starts_with('\x88')) << answer;
  EXPECT_EQ(answer.substr(2, 2), "\x03\xef");  // 1007
  EXPECT_EQ(server_->counts.messages_in.value(), 1u);
  EXPECT_EQ(server_->counts.protocol_errors.value(), 1u);
}

TEST_F(connection_in_memory, retries_a_refused_message_as_soon_as_the_session_catches_up) {
  server_->routes.add("/small", [this](http::websocket client) {
    // The loop of the connection also runs the session, so the second message would exceed the
    // mailbox.
    return std::make_unique<session_of<parrot>>(system_.spawn<parrot>(
        {.where = bound_to(pump_), .max_messages = 1, .on_full = overflow::refuse},
        std::move(client)));
  });
  exchange(upgrade_to("/small"));
  using test::raw_client;
  std::string all, answers;
  for (const char* each : {"a", "b", "c", "d", "e"}) {
    all += raw_client::frame(raw_client::text, each);
    answers += std::string("\x81\x02") + each + each;
  }
  // The retry must not depend on time, which does not pass here.
  EXPECT_EQ(exchange(all), answers);
  EXPECT_GE(server_->counts.refusal_pauses.value(), 1u);
  EXPECT_EQ(server_->counts.held_back.value(), 0u);
}

TEST_F(connection_in_memory, ends_with_its_client) {
  run();
  client_.close();
  run();
  EXPECT_EQ(connection_.join(), exit_reason::stopped);
}

TEST_F(connection_in_memory, an_exception_in_an_operation_fails_only_that_connection) {
  run();
  *reads_ = fate::no_memory;
  exchange("GET /hello HTTP/1.1\r\n");  // has to read the rest, and cannot
  EXPECT_EQ(connection_.join(), exit_reason::failed);
  EXPECT_THAT(failures_, testing::ElementsAre("std::bad_alloc"));
}

TEST_F(connection_in_memory, a_read_that_is_dropped_fails_it) {
  run();
  *reads_ = fate::dropped;
  exchange("GET /hello HTTP/1.1\r\n");
  EXPECT_EQ(connection_.join(), exit_reason::failed);
  EXPECT_THAT(failures_, testing::ElementsAre("an operation was dropped before it completed"));
}

TEST_F(connection_in_memory, a_write_that_is_dropped_below_the_codec_fails_it) {
  run();
  *writes_ = fate::dropped;
  exchange("GET /hello HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_EQ(connection_.join(), exit_reason::failed);
  EXPECT_THAT(failures_, testing::ElementsAre("an operation was dropped before it completed"));
}

TEST_F(connection_in_memory, a_write_that_is_dropped_fails_a_websocket) {
  exchange(upgrade_to("/parrot"));
  *writes_ = fate::dropped;
  using test::raw_client;
  exchange(raw_client::frame(raw_client::text, "ha"));
  EXPECT_EQ(connection_.join(), exit_reason::failed);
}

TEST_F(connection_in_memory, operations_that_outlive_it_do_nothing) {
  run();
  connection_.stop_now();
  EXPECT_EQ(connection_.join(), exit_reason::stopped_now);
  EXPECT_EQ(exchange(""), "");
}

}  // namespace
}  // namespace troupe::http::detail
