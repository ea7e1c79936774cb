// SPDX-License-Identifier: Apache-2.0
#include "log_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace troupe::server::detail {
namespace {

using namespace std::chrono_literals;

template <class Line>
std::string object(const Line& line) {
  std::string text = "{";
  text += as_json(line);
  text += '}';
  return text;
}

TEST(log_text, says_how_bad_whose_and_what) {
  EXPECT_EQ(as_text(lua::log_line{lua::severity::info, "echo", 2, "hello"}),
            "info    echo/2: hello");
  EXPECT_EQ(as_text(lua::log_line{lua::severity::warning, "echo", 0, "x"}), "warning echo: x");
  EXPECT_EQ(as_text(lua::log_line{lua::severity::error, {}, 0, "x"}), "error   server: x");
  EXPECT_EQ(as_json(lua::log_line{lua::severity::debug, "echo", 2, "a \"b\""}),
            R"("level":"debug","application":"echo","instance":2,"text":"a \"b\"")");
  EXPECT_EQ(as_json(lua::log_line{lua::severity::error, {}, 0, "x"}),
            R"("level":"error","text":"x")");
}

TEST(log_text, what_a_script_says_never_looks_like_another_line) {
  const std::string text = "one\ntwo\r\x1b[31m\tred\x7f";
  EXPECT_EQ(as_text(lua::log_line{lua::severity::info, "a", 1, text}),
            "info    a/1: one\n    two\\x0d\\x1b[31m\tred\\x7f");
  const std::string json = object(lua::log_line{lua::severity::info, "a", 1, text});
  EXPECT_EQ(json.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(json)["text"], text);
  EXPECT_TRUE(nlohmann::json::accept(object(lua::log_line{lua::severity::info, "a", 1, "\xff"})));
}

TEST(log_text, a_request_is_one_line_whatever_a_client_has_sent) {
  const http::access line{.what = http::access::kind::request,
                          .peer = "10.0.0.1",
                          .method = "GET",
                          .target = "/a\nb",
                          .status = 404,
                          .bytes = 12,
                          .took = 1'500us};
  EXPECT_EQ(as_text(line), "access  10.0.0.1 GET /a\\nb 404 12 B 1.500 ms");
  const auto json = nlohmann::json::parse(object(line));
  EXPECT_EQ(json["what"], "request");
  EXPECT_EQ(json["target"], "/a\nb");
  EXPECT_EQ(json["status"], 404);
  EXPECT_EQ(json["milliseconds"], 1.5);
}

TEST(log_text, a_websocket_that_is_over_says_with_what) {
  http::access line{.what = http::access::kind::websocket,
                    .peer = "::1",
                    .method = "GET",
                    .target = "/echo",
                    .status = 1000,
                    .bytes = 0,
                    .took = 2s};
  EXPECT_EQ(as_text(line), "access  ::1 WebSocket /echo 1000 0 B 2000.000 ms");
  line = {.peer = "::1", .status = 431};
  EXPECT_EQ(as_text(line), "access  ::1 - - 431 0 B 0.000 ms");
}

}  // namespace
}  // namespace troupe::server::detail
