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

TEST(log_text, includes_severity_source_and_message) {
  EXPECT_EQ(as_text(lua::log_line{lua::severity::info, "echo", 2, "hello"}),
            "info    echo/2: hello");
  EXPECT_EQ(as_text(lua::log_line{lua::severity::warning, "echo", 0, "x"}), "warning echo: x");
  EXPECT_EQ(as_text(lua::log_line{lua::severity::error, {}, 0, "x"}), "error   server: x");
  EXPECT_EQ(as_json(lua::log_line{lua::severity::debug, "echo", 2, "a \"b\""}),
            R"("level":"debug","application":"echo","instance":2,"text":"a \"b\"")");
  EXPECT_EQ(as_json(lua::log_line{lua::severity::error, {}, 0, "x"}),
            R"("level":"error","text":"x")");
}

TEST(log_text, script_output_cannot_forge_another_log_line) {
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
  EXPECT_EQ(as_text(line), "access  10.0.0.1 GET /a\\x0ab 404 12 B 1.500 ms");
  const auto json = nlohmann::json::parse(object(line));
  EXPECT_EQ(json["what"], "request");
  EXPECT_EQ(json["target"], "/a\\x0ab");
  EXPECT_EQ(json["status"], 404);
  EXPECT_EQ(json["milliseconds"], 1.5);
}

// Some terminals obey U+009B like ESC [, in UTF-8 or as one byte.
TEST(log_text, nothing_in_it_is_obeyed_by_a_terminal) {
  const std::string text =
      "a\x9b"
      "31m\xc2\x9b"
      "31m \xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \xff\xc3";
  EXPECT_EQ(as_text(lua::log_line{lua::severity::info, "a", 1, text}),
            "info    a/1: a\\x9b31m\\xc2\\x9b31m \xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 "
            "\\xff\\xc3");
  const std::string line =
      as_json(lua::log_line{lua::severity::info, "a", 1, "\xc2\x9b\x7f\xc3\xa9"});
  EXPECT_THAT(line, testing::EndsWith("\"text\":\"\\u009b\\u007f\xc3\xa9\""));
  const http::access request{.peer = "::1", .method = "GET", .target = "/\x9b\xc2\x9b\xc3\xa9 x"};
  EXPECT_EQ(as_text(request), "access  ::1 GET /\\x9b\\xc2\\x9b\\xc3\\xa9\\x20x 0 0 B 0.000 ms");
}

TEST(log_text, query_values_are_masked) {
  const auto shown = [](std::string_view target) {
    const std::string line = as_text(http::access{.peer = "p", .method = "GET", .target = target});
    return line.substr(14, line.find(" 0 0 B") - 14);
  };
  EXPECT_EQ(shown("/a?token=secret"), "/a?token=*");
  EXPECT_EQ(shown("/a?token=secret&page=2&x="), "/a?token=*&page=*&x=*");
  EXPECT_EQ(shown("/a?secret"), "/a?*");
  EXPECT_EQ(shown("/a?secret&a=b=c?d=e"), "/a?*&a=*");
  EXPECT_EQ(shown("/a?"), "/a?");
  EXPECT_EQ(shown("/a?&&"), "/a?&&");
  EXPECT_EQ(shown("/plain"), "/plain");
  const std::string json = as_json(http::access{.peer = "p", .target = "/a?token=secret"});
  EXPECT_EQ(json.find("secret"), std::string::npos);
}

TEST(log_text, a_line_of_the_access_log_is_not_long) {
  const std::string method(8'000, 'M'), path = "/" + std::string(8'000, '\x01');
  std::string query = "/?";
  for (int i = 0; i < 1'000; ++i) query += "name" + std::to_string(i) + "=value&";
  for (const std::string& target : {path, query}) {
    const http::access line{.peer = "::1", .method = method, .target = target};
    EXPECT_LT(as_text(line).size(), 1'300u);
    EXPECT_LT(as_json(line).size(), 2'600u);
    EXPECT_THAT(as_text(line), testing::HasSubstr(std::string(32, 'M') + "...(7968 bytes more) /"));
  }
  EXPECT_THAT(as_text(http::access{.target = path}),
              testing::HasSubstr("\\x01...(7745 bytes more)"));
}

TEST(log_text, a_closed_websocket_is_logged_with_its_close_code) {
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
