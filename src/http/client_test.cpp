// SPDX-License-Identifier: Apache-2.0

#include "client_test.hpp"

#include <atomic>
#include <vector>

namespace troupe::http::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using http_client = asking_client;

// Replies to each request on a connection with the same text.
raw_server::serving answering(const std::string& text) {
  return [text](raw_client& peer, int) {
    for (;;) {
      raw_server::read_head(peer);
      peer.send(text);
    }
  };
}
// Replies once, and closes.
raw_server::serving answering_once(const std::string& text) {
  return [text](raw_client& peer, int) {
    raw_server::read_head(peer);
    peer.send(text);
    peer.half_close();
    peer.read_to_end();
  };
}

TEST_F(http_client, returns_the_response_of_a_server) {
  start(on_free_port(), [](http::server& on) {
    on.route("GET", "/hello", [](const request& r) {
      response answer = response::text("hello " + r.parameter("who").value_or("nobody"));
      answer.headers.emplace_back("X-Seen", std::string(r.header("x-sent")));
      return answer;
    });
  });
  fetch what;
  what.url = url("/hello?who=you#not-sent");
  what.headers.emplace_back("X-Sent", "a thing");
  const fetched got = get(std::move(what));
  ASSERT_TRUE(got) << error_text(got);
  EXPECT_EQ(got.status, 200u);
  EXPECT_EQ(got.body, "hello you");
  EXPECT_EQ(got.header("x-seen"), "a thing");
  EXPECT_EQ(got.header("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(got.url, url("/hello?who=you"));
}

TEST_F(http_client, sends_a_body_larger_than_a_socket_takes_at_once) {
  http::options o = on_free_port();
  o.limits.body_bytes = 8 * 1024 * 1024;
  start(o, [](http::server& on) {
    on.route("POST", "/size", [](const request& r) {
      return response::text(std::to_string(r.body().size()) + " " + r.body().back());
    });
  });
  fetch what;
  what.method = "POST";
  what.url = url("/size");
  what.body = std::string(5'000'000, 'x') + "y";
  EXPECT_EQ(get(std::move(what)).body, "5000001 y");
}

TEST_F(http_client, keeps_a_connection_for_the_next_request) {
  start(on_free_port(), [](http::server& on) {
    on.route("GET", "/", [](const request&) { return response::text("ok"); });
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(url("/")).body, "ok");
  EXPECT_EQ(statistics().accepted, 1u);
  const client_statistics now = counts();
  EXPECT_EQ(now.connections, 1u);
  EXPECT_EQ(now.connected, 1u);
  EXPECT_EQ(now.reused, 4u);
  EXPECT_EQ(now.answered, 5u);
}

TEST_F(http_client, has_no_more_connections_than_it_may) {
  options_.connections_per_host_max = 2;
  std::atomic<int> now{0}, most{0};
  raw_server slow([&](raw_client& peer, int) {
    for (;;) {
      raw_server::read_head(peer);
      const int at_once = ++now;
      int seen = most;
      while (at_once > seen && !most.compare_exchange_weak(seen, at_once)) {
      }
      peer.readable_within(5ms);
      --now;
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  });
  std::vector<ask_future<fetched>> all;
  for (int i = 0; i < 20; ++i) {
    fetch what;
    what.url = slow.url();
    all.push_back(its().ask<fetch>(no_timeout, std::move(what)));
  }
  for (auto& each : all) EXPECT_EQ(each.get().value().body, "ok");
  EXPECT_LE(most, 2);
  EXPECT_EQ(counts().connected, 2u);
}

TEST_F(http_client, gives_a_kept_connection_up_for_another_host) {
  options_.connections_max = 1;
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
  raw_server one(answering(ok + "1"));
  raw_server two(answering(ok + "2"));
  EXPECT_EQ(get(one.url()).body, "1");
  EXPECT_EQ(get(two.url()).body, "2");
  EXPECT_EQ(get(one.url()).body, "1");
  EXPECT_EQ(counts().connections, 1u);
  EXPECT_EQ(counts().connected, 3u);
}

TEST_F(http_client, refuses_one_more_than_may_wait) {
  options_.connections_max = 1;
  options_.queue_max = 1;
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  std::vector<ask_future<fetched>> all;
  for (int i = 0; i < 3; ++i) {
    fetch what;
    what.url = silent.url();
    what.timeout = i < 2 ? 2s : 30s;
    all.push_back(its().ask<fetch>(no_timeout, std::move(what)));
  }
  const fetched third = all[2].get().value();
  EXPECT_EQ(error_text(third),
            "overloaded: 1 requests wait for a connection already, which is the limit queue_max");
  EXPECT_EQ(all[0].get().value().error, client_error::timeout);
  EXPECT_EQ(all[1].get().value().error, client_error::timeout);
  EXPECT_EQ(counts().failed, 3u);
  EXPECT_EQ(counts().waiting, 0u);
}

// ── Bytes ─────────────────────────────────────────────────────────────────────────────────────

constexpr auto too_many_bytes =
    "overloaded: the requests and responses of this client exceed bytes_max";

TEST_F(http_client, refuses_more_bytes_of_requests_than_it_may_have) {
  options_.bytes_max = 100'000;
  options_.connections_max = 1;  // requests that wait count as well as those that are sent
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  const auto post = [&](std::chrono::milliseconds time) {
    fetch what;
    what.method = "POST";
    what.url = silent.url();
    what.body.assign(40'000, 'x');
    what.timeout = time;
    return its().ask<fetch>(no_timeout, std::move(what));
  };
  std::vector<ask_future<fetched>> all;
  for (int i = 0; i < 3; ++i) all.push_back(post(i < 2 ? 300ms : 30s));
  EXPECT_EQ(error_text(all[2].get().value()), too_many_bytes);
  EXPECT_EQ(all[0].get().value().error, client_error::timeout);
  EXPECT_EQ(all[1].get().value().error, client_error::timeout);
  // They have returned their bytes.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(post(10ms).get().value().error, client_error::timeout);
  fetch headers;
  headers.url = silent.url();
  headers.headers.emplace_back("X-Long", std::string(60'000, 'x'));
  headers.body.assign(60'000, 'x');
  EXPECT_EQ(error_text(get(std::move(headers))), too_many_bytes);
}

TEST_F(http_client, refuses_a_response_that_exceeds_bytes_max) {
  options_.bytes_max = 100'000;
  raw_server announcing(answering("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n"));
  EXPECT_EQ(error_text(get(announcing.url())), too_many_bytes);
  raw_server chunked(
      answering_once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "30d40\r\n" +
                     std::string(200'000, 'x') + "\r\n0\r\n\r\n"));
  EXPECT_EQ(error_text(get(chunked.url())), too_many_bytes);
  raw_server short_one(answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  EXPECT_EQ(get(short_one.url()).body, "ok");
}

TEST_F(http_client, counts_a_response_against_bytes_max_until_it_is_destroyed) {
  options_.bytes_max = 100'000;
  raw_server server(
      answering("HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + std::string(60'000, 'x')));
  fetched first = get(server.url());
  EXPECT_EQ(first.body.size(), 60'000u);
  EXPECT_EQ(error_text(get(server.url())), too_many_bytes);
  fetched copy = first;
  first = {};
  EXPECT_EQ(error_text(get(server.url())), too_many_bytes);
  copy = {};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get(server.url()).body.size(), 60'000u);
}

TEST_F(http_client, reads_chunked_bodies_and_bodies_that_end_with_the_connection) {
  raw_server chunked(
      answering_once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX: y\r\n\r\n"));
  EXPECT_EQ(get(chunked.url()).body, "hello world");
  raw_server to_the_end(answering_once("HTTP/1.0 200 OK\r\n\r\nall of it"));
  EXPECT_EQ(get(to_the_end.url()).body, "all of it");
}

TEST_F(http_client, trailers_are_not_headers_of_the_response) {
  raw_server peer(
      answering_once("HTTP/1.1 200 OK\r\nX: head\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "2\r\nok\r\n0\r\nX: trailer\r\nY: trailer\r\n\r\n"));
  const fetched got = get(peer.url());
  EXPECT_EQ(got.body, "ok");
  EXPECT_EQ(got.headers, (header_list{{"X", "head"}, {"Transfer-Encoding", "chunked"}}));
}

TEST_F(http_client, a_response_may_arrive_byte_by_byte) {
  raw_server slow([](raw_client& peer, int) {
    raw_server::read_head(peer);
    for (const char c : std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    "2\r\nok\r\n0\r\n\r\n")) {
      peer.send({&c, 1});
    }
    peer.read_to_end();
  });
  EXPECT_EQ(get(slow.url()).body, "ok");
}

TEST_F(http_client, skips_interim_responses) {
  raw_server early(
      answering_once("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
                     "Link: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  const fetched got = get(early.url());
  EXPECT_EQ(got.status, 200u);
  EXPECT_EQ(got.body, "ok");
  std::string many;
  for (int i = 0; i < 9; ++i) many += "HTTP/1.1 100 Continue\r\n\r\n";
  raw_server endless(answering_once(many));
  EXPECT_THAT(error_text(get(endless.url())),
              StartsWith("malformed: more than 8 interim responses"));
  raw_server other(answering_once("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
  EXPECT_THAT(error_text(get(other.url())),
              StartsWith("malformed: the response switches protocols"));
}

TEST_F(http_client, an_answer_to_HEAD_has_no_body) {
  raw_server head(answering("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n"));
  for (int i = 0; i < 2; ++i) {
    fetch what;
    what.method = "HEAD";
    what.url = head.url();
    const fetched got = get(std::move(what));
    ASSERT_TRUE(got) << error_text(got);
    EXPECT_EQ(got.header("content-length"), "5000000");
    EXPECT_EQ(got.body, "");
  }
  // If the server sent a body all the same, it would be taken for the next response.
  EXPECT_EQ(counts().reused, 0u);
}

// ── Failures ──────────────────────────────────────────────────────────────────────────────────

TEST_F(http_client, reports_a_refused_connection) {
  std::uint16_t free = 0;
  {
    const raw_server was([](raw_client&, int) {});
    free = was.port();
  }
  EXPECT_EQ(
      error_text(get("http://127.0.0.1:" + std::to_string(free))),
      "connect: cannot connect to 127.0.0.1:" + std::to_string(free) + ": Connection refused");
}

TEST_F(http_client, reports_a_name_that_cannot_be_resolved) {
  EXPECT_THAT(error_text(get("http://no-such-host.invalid/")),
              StartsWith("resolve: the name no-such-host.invalid cannot be resolved: "));
}

TEST_F(http_client, looks_names_up) {
  start(on_free_port(), [](http::server& on) {
    on.route("GET", "/",
             [](const request& r) { return response::text(std::string(r.header("host"))); });
  });
  const std::string host = "localhost:" + std::to_string(server_->port());
  EXPECT_EQ(get("http://LOCALHOST:" + std::to_string(server_->port())).body, host);
}

TEST_F(http_client, gives_up_in_time) {
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  raw_server slow([](raw_client& peer, int) {
    raw_server::read_head(peer);
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun");
    peer.read_to_end();
  });
  fetch what;
  what.timeout = 50ms;
  what.url = silent.url();
  EXPECT_EQ(error_text(get(what)), "timeout: no response came in time");
  what.url = slow.url();
  what.timeout = 1s;  // the deadline for the start of the response
  EXPECT_EQ(error_text(get(what)), "timeout: the response was not complete in time");
  EXPECT_EQ(counts().connections, 0u);
}

TEST_F(http_client, refuses_responses_over_the_limits_of_the_request) {
  fetch what;
  what.body_bytes = 10;
  what.header_bytes = 100;
  const auto expect = [&](const std::string& answer, const std::string& why) {
    raw_server peer(answering_once(answer));
    what.url = peer.url();
    EXPECT_EQ(error_text(get(what)), "too large: the response " + why);
  };
  expect("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", "body has more than 10 bytes");
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n",
         "body has more than 10 bytes");
  expect("HTTP/1.0 200 OK\r\n\r\nhello world", "body has more than 10 bytes");
  expect("HTTP/1.1 200 OK\r\nX: " + std::string(100, 'x') + "\r\n\r\n",
         "headers have more than 100 bytes");
  expect("HTTP/1.1 200 OK\r\nX: " + std::string(200, 'x'), "headers have more than 100 bytes");
  expect("HTTP/1.1 200 " + std::string(5000, 'x'), "headers have more than 100 bytes");
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(5000, 'x'),
         "headers have more than 100 bytes");
  expect("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + std::string(5000, 'x'),
         "headers have more than 100 bytes");
  what.body_bytes = 11;
  raw_server fits(answering_once("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"));
  what.url = fits.url();
  EXPECT_EQ(get(what).body, "hello world");
}

TEST_F(http_client, refuses_what_is_no_HTTP) {
  for (const char* const wrong :
       {"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"}) {
    raw_server peer(answering_once(wrong));
    EXPECT_THAT(error_text(get(peer.url())),
                StartsWith("malformed: the response is not valid HTTP: "))
        << wrong;
  }
}

TEST_F(http_client, reports_a_connection_closed_before_the_response_is_complete) {
  raw_server at_once([](raw_client& peer, int) { raw_server::read_head(peer); });
  EXPECT_THAT(error_text(get(at_once.url())),
              StartsWith("closed: the connection was closed before"));
  raw_server within(answering_once("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
  EXPECT_THAT(error_text(get(within.url())),
              StartsWith("closed: the connection ended before the response"));
  raw_server within_head(answering_once("HTTP/1.1 200 OK\r\nContent-"));
  EXPECT_THAT(error_text(get(within_head.url())),
              StartsWith("closed: the connection ended before the response"));
  raw_server within_chunk(
      answering_once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"));
  EXPECT_THAT(error_text(get(within_chunk.url())),
              StartsWith("closed: the connection ended before the response"));
  raw_server reset([](raw_client& peer, int) {
    raw_server::read_head(peer);
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    peer.reset();
  });
  EXPECT_EQ(get(reset.url()).error, client_error::closed);
}

TEST_F(http_client, accepts_a_response_before_the_body_was_sent) {
  raw_server early([](raw_client& peer, int) {
    raw_server::read_head(peer);
    peer.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
    peer.half_close();
    peer.read_to_end();
  });
  fetch what;
  what.method = "PUT";
  what.url = early.url();
  what.body = std::string(16 * 1024 * 1024, 'x');
  const fetched got = get(std::move(what));
  ASSERT_TRUE(got) << error_text(got);
  EXPECT_EQ(got.status, 413u);
  EXPECT_EQ(counts().connections, 0u);
}

TEST_F(http_client, makes_a_request_once_more_if_a_kept_connection_has_just_been_closed) {
  // Each connection is closed at its second request, without a response.
  raw_server fickle([](raw_client& peer, int) {
    raw_server::read_head(peer);
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    raw_server::read_head(peer);
  });
  EXPECT_EQ(get(fickle.url()).body, "ok");
  EXPECT_EQ(get(fickle.url()).body, "ok");
  EXPECT_EQ(counts().repeated, 1u);
  fetch what;
  what.method = "POST";
  what.url = fickle.url();
  EXPECT_EQ(get(std::move(what)).error, client_error::closed) << "it may have been taken";
}

TEST_F(http_client, drops_an_idle_connection_that_closes_or_receives_data) {
  raw_server closing(answering_once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  EXPECT_EQ(get(closing.url()).body, "ok");
  EXPECT_TRUE(comes_true([&] { return counts().connections == 0; }));
  raw_server talking(
      answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(get(talking.url()).body, "ok");
  EXPECT_EQ(get(talking.url()).body, "ok");
  EXPECT_TRUE(comes_true([&] { return counts().connections == 0; }));
  EXPECT_EQ(counts().reused, 0u);
}

TEST_F(http_client, keeps_a_connection_no_longer_than_it_may) {
  options_.keep_alive_timeout = 20ms;
  raw_server peer(answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  EXPECT_EQ(get(peer.url()).body, "ok");
  EXPECT_TRUE(comes_true([&] { return counts().connections == 0; }));
}

// ── Redirects ─────────────────────────────────────────────────────────────────────────────────

class http_client_redirects : public asking_client {
 protected:
  http_client_redirects() {
    start(on_free_port(), [](http::server& on) {
      on.route("GET", "/again", [](const request&) { return response::redirect("/again"); });
      on.route("GET", "/a/first",
               [](const request&) { return response::redirect("../second?x=1"); });
      const auto show = [](const request& r) {
        return response::text(std::string(r.method()) + " " + std::string(r.target()) + " " +
                              r.body() + " " + std::string(r.header("authorization")));
      };
      for (const char* method : {"GET", "POST"}) on.route(method, "/second", show);
      on.route("POST", "/see", [](const request&) { return response::redirect("/second", 303); });
      on.route("POST", "/same", [](const request&) { return response::redirect("/second", 307); });
      on.route("GET", "/nowhere", [](const request&) { return response::redirect("ftp://x/"); });
    });
  }
  fetch following(const std::string& target) {
    fetch what;
    what.url = url(target);
    what.redirects = 5;
    return what;
  }
};

TEST_F(http_client_redirects, are_followed_only_on_request) {
  const fetched got = get(url("/a/first"));
  EXPECT_EQ(got.status, 302u);
  EXPECT_EQ(got.header("location"), "../second?x=1");
}

TEST_F(http_client_redirects, are_followed_and_counted) {
  const fetched got = get(following("/a/first"));
  EXPECT_EQ(got.body, "GET /second?x=1  ");
  EXPECT_EQ(got.url, url("/second?x=1"));
  const fetched endless = get(following("/again"));
  EXPECT_EQ(error_text(endless), "redirects: more than 5 redirects, the last to " + url("/again"));
  EXPECT_EQ(endless.status, 302u);
  EXPECT_THAT(error_text(get(following("/nowhere"))),
              StartsWith("redirects: a redirect has an invalid location"));
}

TEST_F(http_client_redirects, become_GET_or_stay_what_they_were) {
  fetch what = following("/see");
  what.method = "POST";
  what.body = "data";
  EXPECT_EQ(get(what).body, "GET /second  ");
  what.url = url("/same");
  EXPECT_EQ(get(what).body, "POST /second data ");
}

TEST_F(http_client_redirects, do_not_send_credentials_to_another_host) {
  raw_server leading([&](raw_client& peer, int) {
    raw_server::read_head(peer);
    peer.send("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + url("/second") +
              "\r\n\r\n");
    peer.read_to_end();
  });
  fetch what = following("/");
  what.url = leading.url();
  what.headers.emplace_back("Authorization", "Bearer secret");
  EXPECT_EQ(get(what).body, "GET /second  ");
}

TEST_F(http_client_redirects, lead_to_allowed_hosts_only) {
  raw_server leading([&](raw_client& peer, int) {
    raw_server::read_head(peer);
    peer.send("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + url("/second") +
              "\r\n\r\n");
    peer.read_to_end();
  });
  options_.allowed = allowed_hosts::only({"127.0.0.1:" + std::to_string(leading.port())});
  fetch what = following("/");
  what.url = leading.url();
  EXPECT_THAT(error_text(get(what)), StartsWith("not allowed: no connection to 127.0.0.1:"));
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────

TEST_F(http_client, errors_name_the_invalid_part_of_a_request) {
  const auto wrong = [&](const std::string& to, const std::string& method = "GET",
                         const std::string& name = "X", const std::string& value = "y") {
    fetch what;
    what.url = to;
    what.method = method;
    what.headers.emplace_back(name, value);
    return error_text(get(std::move(what)));
  };
  EXPECT_THAT(wrong("ftp://x/"), HasSubstr("must begin with http:// or https://"));
  EXPECT_THAT(wrong("nothing"), StartsWith("invalid: the URL 'nothing' "));
  EXPECT_THAT(wrong("http:///x"), StartsWith("invalid: the URL "));
  EXPECT_THAT(wrong("http://a b/"), StartsWith("invalid: the URL "));
  EXPECT_THAT(wrong("http://a/\r\nX: y"), StartsWith("invalid: the URL "));
  EXPECT_THAT(wrong("http://a:70000/"), StartsWith("invalid: the URL "));
  EXPECT_THAT(wrong("http://a:0/"), StartsWith("invalid: the URL "));
  EXPECT_THAT(wrong("http://me:secret@a/"), HasSubstr("contains a user name"));
  EXPECT_THAT(wrong("http://a/", "G T"), HasSubstr("the method must be a token"));
  EXPECT_THAT(wrong("http://a/", "CONNECT"), HasSubstr("is for proxies"));
  EXPECT_THAT(wrong("http://a/", "GET", "Host"), HasSubstr("'Host' is set by the client itself"));
  EXPECT_THAT(wrong("http://a/", "GET", "content-length"),
              HasSubstr("is set by the client itself"));
  EXPECT_THAT(wrong("http://a/", "GET", "a b"), HasSubstr("a header name must consist of"));
  EXPECT_THAT(wrong("http://a/", "GET", "X", "a\r\nb: c"), HasSubstr("must be a single line"));
  EXPECT_EQ(counts().connected, 0u);
}

TEST_F(http_client, connects_only_to_allowed_hosts) {
  options_.allowed = allowed_hosts::none();
  EXPECT_EQ(error_text(get("http://127.0.0.1:1/")),
            "not allowed: no connection to 127.0.0.1:1 is allowed: the host is not in the list of "
            "allowed hosts");
}

TEST(allowed_hosts, match_the_entries_of_the_list) {
  const auto some =
      allowed_hosts::only({"example.org:443", "Any.Port", "*.below.org:80", "[::1]:8080"});
  EXPECT_TRUE(some.allow("example.org", 443));
  EXPECT_TRUE(some.allow("EXAMPLE.org", 443));
  EXPECT_FALSE(some.allow("example.org", 80));
  EXPECT_FALSE(some.allow("www.example.org", 443));
  EXPECT_FALSE(some.allow("notexample.org", 443));
  EXPECT_TRUE(some.allow("any.port", 1));
  EXPECT_TRUE(some.allow("a.b.below.org", 80));
  EXPECT_FALSE(some.allow("below.org", 80));
  EXPECT_FALSE(some.allow(".below.org", 80));
  EXPECT_FALSE(some.allow("notbelow.org", 80));
  EXPECT_TRUE(some.allow("::1", 8080));
  EXPECT_FALSE(some.allow("::1", 80));
  EXPECT_FALSE(allowed_hosts::none().allow("a", 1));
  EXPECT_TRUE(allowed_hosts::all().allow("a", 1));
  for (const char* const wrong :
       {"", "a b", "http://a", "a:0", "a:70000", "a:x", "*", "*.", "[::1", "[::1]x", "a/b"}) {
    EXPECT_THROW((void)allowed_hosts::only({wrong}), std::invalid_argument) << wrong;
  }
}

TEST_F(http_client, invalid_options_are_refused) {
  net::loop loop(system_, "client");
  client_options none;
  none.connections_max = 0;
  EXPECT_THROW((void)client::spawn(system_, loop, none), std::invalid_argument);
  client_options lost;
  lost.trusted_certificates = "/no/such/file.pem";
  EXPECT_THROW((void)client::spawn(system_, loop, lost), std::invalid_argument);
}

// ── Termination ───────────────────────────────────────────────────────────────────────────────

TEST_F(http_client, pending_requests_get_an_error_when_it_is_stopped) {
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  fetch what;
  what.url = silent.url();
  auto asked = its().ask<fetch>(no_timeout, std::move(what));
  EXPECT_TRUE(comes_true([&] { return counts().connected == 1; }));
  client_.stop();
  EXPECT_EQ(error_text(asked.get().value()), "stopped: the client has stopped");
}

TEST_F(http_client, stays_alive_while_a_request_is_pending) {
  raw_server slow([](raw_client& peer, int) {
    raw_server::read_head(peer);
    peer.readable_within(30ms);
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  });
  fetch what;
  what.url = slow.url();
  auto asked = its().ask<fetch>(no_timeout, std::move(what));
  client_ = {};
  EXPECT_EQ(asked.get().value().body, "ok");
}

TEST_F(http_client, ends_with_its_loop) {
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  fetch what;
  what.url = silent.url();
  auto asked = its().ask<fetch>(no_timeout, std::move(what));
  EXPECT_TRUE(comes_true([&] { return counts().connected == 1; }));
  loop_.reset();
  EXPECT_EQ(asked.get().value().error, client_error::stopped);
}

}  // namespace
}  // namespace troupe::http::test
