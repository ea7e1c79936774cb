// SPDX-License-Identifier: Apache-2.0

// The requirements of RFC 9110, RFC 9112 and RFC 6455 for a server, as a client sees them on a
// socket.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class conformance : public served {
 protected:
  void SetUp() override {
    start(on_free_port(), [](http::server& s) {
      s.route("GET", "/hello", [](const request& r) {
        return response::text("hello " + std::string{r.header("Host")} +
                              std::string{r.header("X-User")});
      });
      s.route("POST", "/echo", [](const request& r) {
        return response::text(r.body() + std::string{r.header("X-User")});
      });
      s.resource("/page", "text/html", "<p>page");
      s.websocket<echo>("/chat");
    });
  }

  /// The status of each response to these bytes, until the server closes.
  std::vector<unsigned> statuses(const std::string& bytes) const {
    raw_client c = connect();
    c.send(bytes);
    c.half_close();
    const std::string all = c.read_to_end();
    EXPECT_FALSE(c.was_reset()) << bytes;
    std::vector<unsigned> result;
    for (std::size_t at = all.find("HTTP/1."); at != std::string::npos;
         at = all.find("HTTP/1.", at + 1)) {
      // A body may contain HTTP/1.1 as well.
      const std::string code = all.substr(at + 9, 3);
      if (code.find_first_not_of("0123456789") != std::string::npos || code.size() != 3) continue;
      result.push_back(static_cast<unsigned>(std::stoul(code)));
    }
    return result;
  }
  unsigned status(const std::string& bytes) const {
    const std::vector<unsigned> all = statuses(bytes);
    EXPECT_EQ(all.size(), 1u) << bytes;
    return all.empty() ? 0 : all.front();
  }
  unsigned upgrade(const std::string& more, const std::string& version = "1.1") const {
    raw_client c = connect();
    c.send("GET /chat HTTP/" + version + "\r\nHost: here\r\n" + more + "\r\n");
    return c.read_answer().status;
  }

  static constexpr const char* next = "GET /hello HTTP/1.1\r\nHost: next\r\n\r\n";
};

const std::string post = "POST /echo HTTP/1.1\r\nHost: here\r\n";
const std::string websocket_key =
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string websocket_headers =
    "Connection: Upgrade\r\nUpgrade: websocket\r\n" + websocket_key;

// ── Where a request ends: RFC 9112, 6 and 7 ───────────────────────────────────────────────────

TEST_F(conformance, a_transfer_encoding_not_ending_in_chunked_gets_400_and_a_close) {
  for (const char* value :
       {"xchunked", "identity", "gzip", "\"chunked\"", "chunked, identity", "chunked, chunked",
        "chunked\r\nTransfer-Encoding: identity", "", ",", "chunked;a=b", "chun ked"}) {
    const std::string asked = post + "Transfer-Encoding: " + value + "\r\n\r\n";
    EXPECT_THAT(statuses(asked + next), ElementsAre(400u)) << value;
    EXPECT_THAT(statuses(asked + "0\r\n\r\n" + next), ElementsAre(400u)) << value;
  }
  EXPECT_THAT(statuses(post + "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n" + next),
              ElementsAre(200u, 200u));
}

TEST_F(conformance, transfer_encoding_with_content_length_gets_400_and_a_close) {
  for (const char* coding : {"chunked", "xchunked", "gzip, chunked"}) {
    for (const bool first : {true, false}) {
      const std::string te = std::string{"Transfer-Encoding: "} + coding + "\r\n";
      const std::string length = "Content-Length: 3\r\n";
      EXPECT_THAT(statuses(post + (first ? te + length : length + te) + "\r\n0\r\n\r\n" + next),
                  ElementsAre(400u));
    }
  }
}

TEST_F(conformance, transfer_encoding_in_http_1_0_gets_400_and_a_close) {
  const std::string old = "POST /echo HTTP/1.0\r\nConnection: keep-alive\r\n";
  EXPECT_THAT(statuses(old + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next),
              ElementsAre(400u));
  EXPECT_THAT(statuses(old + "Content-Length: 2\r\n\r\nab" + next), ElementsAre(200u, 200u));
}

TEST_F(conformance, a_coding_that_is_not_understood_is_501_and_reaches_no_handler) {
  for (const char* value :
       {"gzip, chunked", "gzip;level=9, chunked", "a\r\nTransfer-Encoding: chunked"}) {
    EXPECT_THAT(
        statuses(post + "Transfer-Encoding: " + value + "\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + next),
        ElementsAre(501u))
        << value;
  }
}

TEST_F(conformance, only_one_numeric_content_length_is_accepted) {
  for (const char* value : {"+1", "-1", "1, 1", "0x1", "1 1", "", "1\r\nContent-Length: 1"}) {
    EXPECT_THAT(statuses(post + "Content-Length: " + value + "\r\n\r\na" + next), ElementsAre(400u))
        << value;
  }
  EXPECT_EQ(status(post + "Content-Length: 99999999999999999999999\r\n\r\n"), 413u);
  EXPECT_THAT(statuses(post + "Content-Length:\t 001 \r\n\r\na" + next), ElementsAre(200u, 200u));
}

TEST_F(conformance, lines_that_two_readers_could_read_in_two_ways_are_400) {
  for (const char* head :
       {"GET /hello HTTP/1.1\nHost: here\r\n\r\n", "GET /hello HTTP/1.1\r\nHost: here\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: here\r\nX: a\rb\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: here\r\nX: a\r\n b\r\n\r\n",
        "GET /hello HTTP/1.1\r\n Host: here\r\n\r\n", "GET /hello HTTP/1.1\r\nHost : here\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: here\r\n: x\r\n\r\n",
        "GET  /hello HTTP/1.1\r\nHost: here\r\n\r\n",
        "GET /hello HTTP/1.1 \r\nHost: here\r\n\r\n"}) {
    EXPECT_THAT(statuses(std::string{head} + next), ElementsAre(400u)) << head;
  }
}

TEST_F(conformance, chunks_are_read_strictly) {
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  for (const char* body :
       {"1\nx\r\n0\r\n\r\n", "1\r\nxx\r\n0\r\n\r\n", "-1\r\nx\r\n0\r\n\r\n",
        "0x1\r\nx\r\n0\r\n\r\n", " 1\r\nx\r\n0\r\n\r\n", "1 \r\nx\r\n0\r\n\r\n", "\r\n0\r\n\r\n",
        ";a\r\n0\r\n\r\n", "11111111111111111\r\nx\r\n0\r\n\r\n", "1;a\nb\r\nx\r\n0\r\n\r\n",
        "1\r\nx\n0\r\n\r\n", "0\r\nX\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nX : y\r\n\r\n"}) {
    EXPECT_THAT(statuses(chunked + body + next), ElementsAre(400u)) << body;
  }
  raw_client c = connect();
  c.send(chunked + "A;name=\"va;lue\"\r\n0123456789\r\n2 ; x\r\nab\r\n00\r\nX-User: admin\r\n\r\n");
  EXPECT_EQ(c.read_answer().body, "0123456789ab");
}

TEST_F(conformance, chunk_extensions_are_bounded) {
  raw_client c = connect();
  c.send(post + "Transfer-Encoding: chunked\r\n\r\n1;");
  while (!c.readable_within(0ms)) c.send_some(std::string(4096, 'a'));
  EXPECT_EQ(c.read_answer().status, 431u);
  EXPECT_EQ(statistics().headers_too_large, 1u);
  EXPECT_LT(statistics().bytes_in, 256u * 1024);

  // The limit holds for many chunks together too.
  raw_client many = connect();
  many.send(post + "Transfer-Encoding: chunked\r\n\r\n");
  const std::string one = "1;" + std::string(200, 'a') + "\r\nx\r\n";
  while (!many.readable_within(0ms)) many.send_some(one);
  EXPECT_EQ(many.read_answer().status, 431u);
  EXPECT_TRUE(comes_true([&] { return statistics().connections <= 2; }));
}

TEST_F(conformance, trailers_are_bounded_and_cost_no_connection) {
  for (const char* begin : {"0\r\nX: ", "0\r\n"}) {
    raw_client c = connect();
    c.send(post + "Transfer-Encoding: chunked\r\n\r\n" + begin + std::string(70'000, 'a') +
           "\r\n\r\n");
    EXPECT_EQ(c.read_answer().status, 431u);
  }
  raw_client many = connect();
  many.send(post + "Transfer-Encoding: chunked\r\n\r\n0\r\n");
  while (!many.readable_within(0ms)) many.send_some("X: y\r\n");
  EXPECT_EQ(many.read_answer().status, 431u);
  many.hang_up();
  EXPECT_EQ(statistics().headers_too_large, 3u);
  EXPECT_TRUE(comes_true([&] { return statistics().connections == 0; }));
}

TEST_F(conformance, trailers_are_no_headers) {
  raw_client c = connect();
  c.send(post +
         "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-User: admin\r\n"
         "Connection: close\r\nHost: there\r\n\r\n" +
         next);
  EXPECT_EQ(c.read_answer().body, "ab");
  EXPECT_EQ(c.read_answer().body, "hello next");

  EXPECT_EQ(
      status("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHost: here\r\n\r\n"),
      400u);
}

TEST_F(conformance, trailers_begin_no_websocket) {
  EXPECT_EQ(status("GET /chat HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" +
                   websocket_headers + "\r\n"),
            426u);
  EXPECT_EQ(status("GET /chat HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n" +
                   websocket_headers + "\r\n0\r\nX-User: admin\r\n\r\n"),
            400u);
}

// ── Unwanted bodies ───────────────────────────────────────────────────────────────────────────

TEST_F(conformance, requests_that_need_no_body_are_answered_before_it_arrives) {
  const auto answer_to = [&](const std::string& line) {
    raw_client c = connect();
    c.send(line +
           " HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n"
           "Expect: 100-continue\r\n\r\n");
    const answer a = c.read_answer();
    EXPECT_THAT(a.headers.at("connection"), HasSubstr("close")) << line;
    EXPECT_EQ(c.read_to_end(), "") << line;
    return a.status;
  };
  EXPECT_EQ(answer_to("POST /nowhere"), 404u);
  EXPECT_EQ(answer_to("POST /hello"), 405u);
  EXPECT_EQ(answer_to("FROB /hello"), 501u);
  EXPECT_EQ(answer_to("GET /page"), 200u);
  EXPECT_EQ(answer_to("GET /chat"), 426u);
  EXPECT_EQ(statistics().request_body_bytes, 0u);
}

TEST_F(conformance, a_too_large_announced_body_is_refused_before_it_arrives) {
  raw_client c = connect();
  c.send(post + "Content-Length: 100000000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.read_answer().status, 413u);
}

TEST_F(conformance, expect_is_ignored_in_http_1_0) {
  raw_client c = connect();
  c.send("POST /echo HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_FALSE(c.readable_within(50ms));
  c.send("ok");
  EXPECT_EQ(c.read_answer().body, "ok");
}

// ── Headers: RFC 9110, 5 and 7 ────────────────────────────────────────────────────────────────

TEST_F(conformance, connection_may_be_on_several_lines) {
  EXPECT_EQ(upgrade("Connection: keep-alive\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
                    websocket_key),
            101u);
  EXPECT_EQ(upgrade("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n" + websocket_key),
            101u);
  EXPECT_THAT(statuses("GET /hello HTTP/1.1\r\nHost: here\r\nConnection: keep-alive\r\n"
                       "Connection: close\r\n\r\n" +
                       std::string{next}),
              ElementsAre(200u));
}

TEST_F(conformance, upgrade_may_name_several_protocols) {
  EXPECT_EQ(upgrade("Connection: Upgrade\r\nUpgrade: h2c, WebSocket\r\n" + websocket_key), 101u);
  EXPECT_EQ(
      upgrade("Connection: Upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n" + websocket_key),
      101u);
  EXPECT_EQ(upgrade("Connection: Upgrade\r\nUpgrade: xwebsocket\r\n" + websocket_key), 426u);
}

TEST_F(conformance, the_host_of_an_absolute_target_wins) {
  raw_client c = connect();
  c.send("GET http://there:81/hello HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_EQ(c.read_answer().body, "hello there:81");
  c.send("GET http://there/hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(c.read_answer().body, "hello there");
  EXPECT_EQ(status("GET http://there/hello HTTP/1.1\r\n\r\n"), 400u);
  EXPECT_EQ(status("GET http://a@there/hello HTTP/1.1\r\nHost: here\r\n\r\n"), 400u);

  raw_client page = connect();
  page.send(
      "GET http://127.0.0.1/chat HTTP/1.1\r\nHost: 127.0.0.2\r\nOrigin: http://127.0.0.2\r\n" +
      websocket_headers + "\r\n");
  EXPECT_EQ(page.read_answer().status, 403u);
}

TEST_F(conformance, an_invalid_host_is_400) {
  for (const char* host : {"a b", "a/b", "a@b", "a:b", "a:1:2", "[::1", "a:123456", ":80", "\"a\"",
                           "a\tb", "a?b", "%zz", "\xc3\xa4"}) {
    EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n"), 400u)
        << host;
  }
  for (const char* host :
       {"", "a", "a:", "a:8080", "A-b_c.example", "[::1]:80", "127.0.0.1", "%41"}) {
    EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: " + std::string{host} + "\r\n\r\n"), 200u)
        << host;
  }
}

// ── Methods, targets and versions: RFC 9112, 2 and 3 ──────────────────────────────────────────

TEST_F(conformance, a_request_line_of_8000_bytes_is_taken_and_one_without_end_is_414) {
  const std::string target = "/hello?" + std::string(8000, 'x');
  EXPECT_EQ(status("GET " + target + " HTTP/1.1\r\nHost: here\r\n\r\n"), 200u);
  raw_client c = connect();
  c.send("GET /");
  while (!c.readable_within(0ms)) c.send_some("xxxxxxxxxxxxxxxx");
  EXPECT_EQ(c.read_answer().status, 414u);
  EXPECT_EQ(statistics().headers_too_large, 1u);
}

TEST_F(conformance, empty_lines_before_a_request_are_skipped) {
  EXPECT_THAT(statuses("\r\n\r\n" + std::string{next} + "\r\n" + next), ElementsAre(200u, 200u));
  raw_client c = connect();
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "\r\n";
  while (!c.readable_within(0ms)) c.send_some(lines);
  EXPECT_EQ(c.read_answer().status, 414u);
}

TEST_F(conformance, a_later_version_of_http_1_is_taken_and_another_http_is_505) {
  EXPECT_THAT(statuses("GET /hello HTTP/1.2\r\nHost: here\r\n\r\n" + std::string{next}),
              ElementsAre(200u, 200u));
  EXPECT_EQ(status("GET /hello HTTP/2.0\r\nHost: here\r\n\r\n"), 505u);
  EXPECT_EQ(status("GET /hello HTTP/0.9\r\nHost: here\r\n\r\n"), 505u);
  for (const char* version :
       {"HTTP/1", "HTTP/1.", "HTTP/1.11", "http/1.1", "HTTP/a.b", "XTTP/1.1"}) {
    EXPECT_EQ(status("GET /hello " + std::string{version} + "\r\nHost: here\r\n\r\n"), 400u)
        << version;
  }
}

TEST_F(conformance, an_unknown_method_is_501_and_a_known_one_elsewhere_405) {
  EXPECT_EQ(status("FROB /hello HTTP/1.1\r\nHost: here\r\n\r\n"
                   ""),
            501u);
  EXPECT_EQ(status("get /hello HTTP/1.1\r\nHost: here\r\n\r\n"), 501u);
  EXPECT_EQ(status("DELETE /hello HTTP/1.1\r\nHost: here\r\n\r\n"), 405u);
  EXPECT_EQ(status("CONNECT here:80 HTTP/1.1\r\nHost: here\r\n\r\n"), 501u);
}

TEST_F(conformance, options_for_the_whole_server_lists_the_methods) {
  raw_client c = connect();
  c.send("OPTIONS * HTTP/1.1\r\nHost: here\r\n\r\n");
  const answer a = c.read_answer();
  EXPECT_EQ(a.status, 200u);
  EXPECT_EQ(a.headers.at("content-length"), "0");
  EXPECT_EQ(a.headers.at("allow"), "GET, HEAD, OPTIONS, POST");
  EXPECT_EQ(status("GET * HTTP/1.1\r\nHost: here\r\n\r\n"), 400u);
}

TEST_F(conformance, a_405_response_and_options_name_the_methods_of_the_resource) {
  const std::vector<std::pair<std::string, std::string>> all{{"/hello", "GET, HEAD, OPTIONS"},
                                                             {"/echo", "OPTIONS, POST"},
                                                             {"/page", "GET, HEAD, OPTIONS"},
                                                             {"/chat", "GET, OPTIONS"}};
  for (const auto& [path, allowed] : all) {
    raw_client c = connect();
    c.send("DELETE " + path + " HTTP/1.1\r\nHost: here\r\n\r\n");
    const answer wrong = c.read_answer();
    EXPECT_EQ(wrong.status, 405u) << path;
    EXPECT_EQ(wrong.headers.at("allow"), allowed);
    c.send("OPTIONS " + path + " HTTP/1.1\r\nHost: here\r\n\r\n");
    const answer options = c.read_answer();
    EXPECT_EQ(options.status, 204u) << path;
    EXPECT_EQ(options.headers.at("allow"), allowed);
    EXPECT_EQ(options.headers.count("content-length"), 0u) << "RFC 9110, 8.6";
  }
  EXPECT_EQ(status("OPTIONS /nowhere HTTP/1.1\r\nHost: here\r\n\r\n"), 404u);
}

TEST_F(conformance, a_target_is_ascii_without_a_fragment) {
  for (const char* target : {"/hello#x", "/hello?a#b", "/hel\xc3\xa4", "/hello?\xff", "/hel\tlo",
                             "#", "http://here/hello#x", "/hel\x7flo"}) {
    EXPECT_EQ(status("GET " + std::string{target} + " HTTP/1.1\r\nHost: here\r\n\r\n"), 400u)
        << target;
  }
}

// ── Responses ─────────────────────────────────────────────────────────────────────────────────

TEST_F(conformance, an_error_response_to_head_has_no_body) {
  for (const char* asked :
       {"HEAD /hello HTTP/1.1\r\n\r\n", "HEAD /nowhere HTTP/1.1\r\nHost: here\r\n\r\n",
        "HEAD /%zz HTTP/1.1\r\nHost: here\r\n\r\n",
        "HEAD /hello HTTP/1.1\r\nHost: here\r\nX\r\n\r\n",
        "HEAD /hello HTTP/3.0\r\nHost: here\r\n\r\n"}) {
    raw_client c = connect();
    c.send(asked);
    c.half_close();
    const std::string all = c.read_to_end();
    EXPECT_THAT(all, testing::EndsWith("\r\n\r\n")) << asked;
    EXPECT_THAT(all, HasSubstr("Content-Length: ")) << asked;
    EXPECT_THAT(all, Not(HasSubstr(" 200 "))) << asked;
  }
}

TEST_F(conformance, a_426_response_names_the_required_upgrade) {
  for (const char* version : {"12", "8"}) {
    raw_client c = connect();
    c.send(
        "GET /chat HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: " +
        std::string{version} + "\r\n\r\n");
    const answer a = c.read_answer();
    EXPECT_EQ(a.status, 426u);
    EXPECT_EQ(a.headers.at("upgrade"), "websocket");
    EXPECT_THAT(a.headers.at("connection"), HasSubstr("upgrade"));
    EXPECT_EQ(a.headers.at("sec-websocket-version"), "13");
  }
  raw_client plain = connect();
  const answer a = plain.get("/chat");
  EXPECT_EQ(a.status, 426u);
  EXPECT_EQ(a.headers.at("upgrade"), "websocket");
}

TEST_F(conformance, duplicate_websocket_headers_get_400) {
  const std::string begin = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  EXPECT_EQ(upgrade(begin + websocket_key + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
            400u);
  EXPECT_EQ(upgrade(begin + websocket_key + "Sec-WebSocket-Version: 13\r\n"), 400u);
  EXPECT_EQ(
      upgrade(begin + websocket_key + "Origin: http://127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"),
      400u);
  EXPECT_EQ(upgrade(begin + websocket_key), 101u);
}

TEST_F(conformance, conditions_are_looked_at_in_their_order) {
  raw_client c = connect();
  const std::string etag = c.get("/page").headers.at("etag");
  EXPECT_EQ(c.get("/page", "If-Match: \"other\"\r\n").status, 412u);
  EXPECT_EQ(c.get("/page", "If-Match: W/" + etag + "\r\n").status, 412u);
  EXPECT_EQ(c.get("/page", "If-Match: *\r\n").status, 200u);
  EXPECT_EQ(c.get("/page", "If-Match: \"other\"\r\nIf-Match: " + etag + "\r\n").status, 200u);
  const auto conditional = [&](const std::string& headers) {
    c.send("GET /page HTTP/1.1\r\nHost: here\r\n" + headers + "\r\n");
    return c.read_answer(false).status;
  };
  EXPECT_EQ(conditional("If-None-Match: \"other\"\r\nIf-None-Match: " + etag + "\r\n"), 304u);
  EXPECT_EQ(conditional("If-Match: " + etag + "\r\nIf-None-Match: " + etag + "\r\n"), 304u);
}

// ── Origins ───────────────────────────────────────────────────────────────────────────────────

TEST_F(conformance, a_host_name_that_resolves_to_the_server_is_not_same_origin) {
  const auto from = [&](const std::string& host, const std::string& origin) {
    raw_client c = connect();
    c.send("GET /chat HTTP/1.1\r\nHost: " + host + "\r\nOrigin: " + origin + "\r\n" +
           websocket_headers + "\r\n");
    return c.read_answer().status;
  };
  EXPECT_EQ(from("evil.example:8080", "http://evil.example:8080"), 403u);
  EXPECT_EQ(from("127.0.0.1:8080", "http://127.0.0.1:8080"), 101u);
  EXPECT_EQ(from("localhost:8080", "http://localhost:8080"), 101u);
  EXPECT_EQ(from("[::1]:8080", "http://[::1]:8080"), 101u);
  EXPECT_EQ(statistics().refused_origin, 1u);
}

}  // namespace
}  // namespace troupe::http::test
