// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

class http_server : public served {
 protected:
  void SetUp() override {
    start(on_free_port(), [](http::server& s) {
      s.route("GET", "/hello", [](const request&) { return response::text("hello\n"); });
      s.route("POST", "/echo", [](const request& r) { return response::text(r.body()); });
      s.route("GET", "/about", [](const request& r) {
        return response::text(std::string{r.method()} + "|" + std::string{r.target()} + "|" +
                              std::string{r.path()} + "|" + std::string{r.query()} + "|" +
                              std::string{r.header("x-one")} + "|" + std::string{r.peer()} + "|" +
                              r.parameter("b").value_or("none"));
      });
      s.route("GET", "/fails", [](const request&) -> response { throw std::runtime_error("no"); });
      s.route("GET", "/splits", [](const request& r) {
        response a = response::text("split");
        a.headers.emplace_back("X-Echo", r.parameter("value").value_or(""));
        return a;
      });
      s.route("GET", "/impossible", [](const request&) { return response::text("", 99); });
      s.route("GET", "/empty", [](const request&) { return response::text("ignored", 204); });
      s.route("GET", "/elsewhere", [](const request&) { return response::redirect("/hello"); });
    });
  }
};

TEST_F(http_server, serves_a_route) {
  raw_client c = connect();
  const answer a = c.get("/hello");
  EXPECT_EQ(a.status, 200u);
  EXPECT_EQ(a.body, "hello\n");
  EXPECT_EQ(a.headers.at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(a.headers.at("server"), "Troupe");
  EXPECT_EQ(a.headers.at("date").size(), std::string_view{"Sun, 06 Nov 1994 08:49:37 GMT"}.size());
}

TEST_F(http_server, a_handler_sees_the_whole_request) {
  raw_client c = connect();
  EXPECT_EQ(c.get("/%61bout?a=1&b=2%20x+y", "X-One: two\r\n").body,
            "GET|/%61bout?a=1&b=2%20x+y|/about|a=1&b=2%20x+y|two|127.0.0.1|2 x y");
  EXPECT_EQ(c.get("http://here/about").body, "GET|http://here/about|/about|||127.0.0.1|none");
}

TEST_F(http_server, keeps_the_connection) {
  raw_client c = connect();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(c.get("/hello").status, 200u);
  EXPECT_EQ(statistics().accepted, 1u);
  EXPECT_EQ(statistics().requests, 100u);
}

TEST_F(http_server, closes_the_connection_on_request) {
  raw_client c = connect();
  EXPECT_EQ(c.get("/hello", "Connection: close\r\n").headers.at("connection"), "close");
  EXPECT_EQ(c.read_to_end(), "");
  EXPECT_FALSE(c.was_reset());

  raw_client old = connect();
  old.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_answer().body, "hello\n");
  EXPECT_EQ(old.read_to_end(), "");
}

TEST_F(http_server, answers_pipelined_requests_in_order) {
  raw_client c = connect();
  std::string all;
  for (int i = 0; i < 200; ++i) {
    const std::string body = std::to_string(i);
    all += "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  c.send(all);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(c.read_answer().body, std::to_string(i));
}

TEST_F(http_server, answers_a_half_closed_client) {
  raw_client c = connect();
  c.send("GET /hello HTTP/1.1\r\nHost: here\r\n\r\n");
  c.half_close();
  EXPECT_EQ(c.read_answer().body, "hello\n");
  EXPECT_EQ(c.read_to_end(), "");
}

TEST_F(http_server, head_is_get_without_the_body) {
  raw_client c = connect();
  c.send("HEAD /hello HTTP/1.1\r\nHost: here\r\n\r\n");
  const answer a = c.read_answer(false);
  EXPECT_EQ(a.status, 200u);
  EXPECT_EQ(a.headers.at("content-length"), "6");
  EXPECT_EQ(c.get("/hello").body, "hello\n");  // no other bytes came in between
}

TEST_F(http_server, a_request_may_arrive_in_pieces) {
  raw_client c = connect();
  for (const char byte :
       std::string_view{"POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"}) {
    c.send({&byte, 1});
  }
  EXPECT_EQ(c.read_answer().body, "abcdefg");
}

TEST_F(http_server, sends_100_continue_when_the_client_expects_it) {
  raw_client c = connect();
  c.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  c.send("ok");
  EXPECT_EQ(c.read_answer().body, "ok");
}

TEST_F(http_server, unknown_paths_get_404_and_other_methods_405) {
  raw_client c = connect();
  EXPECT_EQ(c.get("/nothing").status, 404u);
  EXPECT_EQ(c.get("/hello/").status, 404u);
  c.send("DELETE /hello HTTP/1.1\r\nHost: here\r\n\r\n");
  const answer a = c.read_answer();
  EXPECT_EQ(a.status, 405u);
  EXPECT_EQ(a.headers.at("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(c.get("/echo").status, 405u);
  EXPECT_EQ(c.get("/elsewhere").headers.at("location"), "/hello");
}

TEST_F(http_server, a_failing_handler_is_500_and_the_connection_stays) {
  raw_client c = connect();
  EXPECT_EQ(c.get("/fails").status, 500u);
  EXPECT_EQ(c.get("/impossible").status, 500u);
  EXPECT_EQ(c.get("/splits?value=a%0d%0aSet-Cookie:%20x").status, 500u);
  EXPECT_EQ(statistics().handler_failures, 3u);
  EXPECT_EQ(c.get("/splits?value=a").headers.at("x-echo"), "a");
}

TEST_F(http_server, a_response_without_content_has_no_body) {
  raw_client c = connect();
  const answer a = c.get("/empty");
  EXPECT_EQ(a.status, 204u);
  EXPECT_FALSE(a.headers.contains("content-length"));
  EXPECT_EQ(c.get("/hello").body, "hello\n");
}

TEST_F(http_server, garbage_is_400_and_counted) {
  for (const char* garbage : {
           "\x16\x03\x01\x02hello, this is TLS\r\n\r\n",
           "GET\r\n\r\n",
           "GET /hello HTTP/1.1\r\nHost here\r\n\r\n",
           "GET /hello HTTP/1.1\r\nHost: here\r\nBad Name: x\r\n\r\n",
           "GET /hello HTTP/1.1\r\n\r\n",
           "GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
           "GET hello HTTP/1.1\r\nHost: here\r\n\r\n",
           "GET /%00 HTTP/1.1\r\nHost: here\r\n\r\n",
           "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: -1\r\n\r\n",
           "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 1, 2\r\n\r\nab",
           "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
           "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\nTransfer-Encoding: chunked"
           "\r\n\r\n0\r\n\r\n",
           "POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       }) {
    const auto before = statistics().malformed_requests;
    raw_client c = connect();
    c.send(garbage);
    c.half_close();
    EXPECT_EQ(c.read_answer().status, 400u) << garbage;
    c.read_to_end();
    EXPECT_FALSE(c.was_reset()) << garbage;
    EXPECT_EQ(statistics().malformed_requests, before + 1) << garbage;
  }
  EXPECT_EQ(connect().get("/hello").status, 200u);
}

TEST_F(http_server, clients_that_disconnect_mid_request_leave_no_connections) {
  for (const char* part : {"", "GET /he", "GET /hello HTTP/1.1\r\nHost: here\r\n",
                           "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nabc"}) {
    for (const bool hard : {false, true}) {
      raw_client c = connect();
      c.get("/hello");
      c.send(part);
      hard ? c.reset() : c.hang_up();
    }
  }
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
  EXPECT_EQ(statistics().malformed_requests, 0u);
}

}  // namespace
}  // namespace troupe::http::test
