// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "http/raw_server.hpp"
#include "running_application.hpp"

namespace troupe::lua::test {
namespace {

using http::test::raw_server;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// An application whose clients send Lua code, and receive its result.
class outgoing_scripts : public running_application {
 protected:
  static constexpr const char* evaluating = R"(
    got = {}
    return {on_message = function(client, text)
      local f, wrong = load(text)
      if not f then return client:send('wrong: ' .. wrong) end
      local all = table.pack(pcall(f, client))
      for i = 2, all.n do all[i] = tostring(all[i]) end
      client:send(table.concat(all, ' ', 2, all.n))
    end}
  )";

  void begin() {
    served::start(on_free_port(), [](http::server& on) {
      on.route("GET", "/hello", [](const http::request& r) {
        http::response answer = http::response::text("hello " + std::string(r.header("x-who")));
        answer.headers.emplace_back("X-Twice", "a");
        answer.headers.emplace_back("X-Twice", "b");
        return answer;
      });
      on.route("GET", "/away",
               [](const http::request&) { return http::response::redirect("/hello"); });
      for (const char* method : {"POST", "PUT"}) {
        on.route(method, "/back", [](const http::request& r) {
          return http::response::text(std::string(r.method()) + " " + r.body() + " " +
                                          std::string(r.header("content-type")),
                                      201);
        });
      }
      on.websocket<http::test::echo>("/echo");
    });
    peer_ = std::move(server_);
    start(evaluating);
    client_.emplace(open());
  }
  ~outgoing_scripts() override {
    client_.reset();
    server_.reset();
    application_.reset();
    peer_.reset();
  }

  /// `%` is replaced by the port of the peer.
  std::string say(std::string lua) {
    for (std::size_t at; (at = lua.find('%')) != std::string::npos;) {
      lua.replace(at, 1, std::to_string(peer_->port()));
    }
    client_->say(lua);
    return client_->hear();
  }
  std::string say(std::string lua, const raw_server& to) {
    for (std::size_t at; (at = lua.find('%')) != std::string::npos;) {
      lua.replace(at, 1, std::to_string(to.port()));
    }
    return say(std::move(lua));
  }

  std::unique_ptr<http::server> peer_;
  std::optional<raw_client> client_;
};

// ── troupe.http ───────────────────────────────────────────────────────────────────────────────

TEST_F(outgoing_scripts, get) {
  begin();
  EXPECT_EQ(say("local r = troupe.http.get('http://127.0.0.1:%/hello') "
                "return r.status, r.body, r.headers['content-type'], r.headers['x-twice'], r.url"),
            "200 hello  text/plain; charset=utf-8 a, b http://127.0.0.1:" +
                std::to_string(peer_->port()) + "/hello");
  EXPECT_EQ(say("return troupe.http.get('http://127.0.0.1:%/hello', {headers = {['X-Who'] = "
                "'you'}}).body"),
            "hello you");
  EXPECT_EQ(say("return troupe.http.get('http://127.0.0.1:%/away').status"), "302");
  EXPECT_EQ(say("return troupe.http.get('http://127.0.0.1:%/away', {redirects = 1}).body"),
            "hello ");
  EXPECT_EQ(application_->statistics().fetched, 4U);
}

TEST_F(outgoing_scripts, post) {
  begin();
  EXPECT_EQ(say("local r = troupe.http.post('http://127.0.0.1:%/back', 'data', "
                "{headers = {['Content-Type'] = 'text/x'}}) return r.status, r.body"),
            "201 POST data text/x");
  EXPECT_THAT(say("return troupe.http.post('http://127.0.0.1:%/back')"),
              HasSubstr("bad argument #2 to 'post' (string expected"));
}

TEST_F(outgoing_scripts, have_no_more_bytes_than_they_may) {
  options_.outgoing_bytes = 100'000;
  begin();
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  EXPECT_THAT(say("body = ('x'):rep(40000) for i = 1, 2 do troupe.after(0, function() "
                  "got[i] = {troupe.http.post('http://127.0.0.1:%/', body, {timeout = 0.3})} end) "
                  "end repeat troupe.sleep(0.001) until #got == 2 "
                  "return got[1][2], got[2][2]",
                  silent),
              AllOf(HasSubstr("timeout"), testing::Not(HasSubstr("overloaded"))));
  EXPECT_THAT(say("for i = 1, 2 do troupe.after(0, function() troupe.http.post("
                  "'http://127.0.0.1:%/', body, {timeout = 30}) end) end troupe.sleep(0.05) "
                  "return troupe.http.post('http://127.0.0.1:%/', body)",
                  silent),
              HasSubstr("nil overloaded: the requests and responses of this client exceed "
                        "bytes_max"));
  EXPECT_TRUE(application_->stop(std::chrono::seconds(10)));  // cancels both requests
}

TEST_F(outgoing_scripts, request) {
  begin();
  EXPECT_EQ(say("return troupe.http.request{method = 'PUT', url = 'http://127.0.0.1:%/back', "
                "body = 'x', headers = {['Content-Type'] = {'a'}}, timeout = 20}.body"),
            "PUT x a");
}

TEST_F(outgoing_scripts, failed_requests_return_nil_and_the_reason) {
  begin();
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  EXPECT_EQ(say("return troupe.http.get('http://127.0.0.1:%/', {timeout = 0.05})", silent),
            "nil timeout: no response came in time");
  raw_server closing([](raw_client& peer, int) { raw_server::read_head(peer); });
  EXPECT_THAT(say("return troupe.http.get('http://127.0.0.1:%/')", closing),
              StartsWith("nil closed: "));
  EXPECT_EQ(say("return troupe.http.get('http://127.0.0.1:%/hello', {max_bytes = 3})"),
            "nil too large: the response body has more than 3 bytes");
  EXPECT_THAT(say("return troupe.http.get('http://127.0.0.1:1/')"),
              StartsWith("nil connect: cannot connect to 127.0.0.1:1: "));
  EXPECT_EQ(application_->statistics().outgoing_failures, 4U);
  EXPECT_EQ(application_->statistics().failures, 0U);
}

TEST_F(outgoing_scripts, misuse_of_requests_is_an_error_that_names_the_problem) {
  begin();
  EXPECT_THAT(say("return troupe.http.get()"), HasSubstr("bad argument #1 to 'get'"));
  EXPECT_THAT(say("return troupe.http.get('ftp://x')"),
              HasSubstr("must begin with http:// or https://"));
  EXPECT_THAT(say("return troupe.http.get('http://x\\0y/')"), HasSubstr("the URL "));
  EXPECT_THAT(
      say("return troupe.http.get('http://x', {timeuot = 1})"),
      HasSubstr(
          "unknown option 'timeuot'; the options are headers, timeout, max_bytes, redirects"));
  EXPECT_THAT(say("return troupe.http.get('http://x', {timeout = 'soon'})"),
              HasSubstr("timeout must be seconds, from 0.001 to 3600"));
  EXPECT_THAT(say("return troupe.http.get('http://x', {timeout = 0/0})"),
              HasSubstr("timeout must be"));
  EXPECT_THAT(say("return troupe.http.get('http://x', {max_bytes = 1e9 // 1 | 0})"),
              HasSubstr("max_bytes must be a whole number from 0 to 67108864"));
  EXPECT_THAT(say("return troupe.http.get('http://x', {headers = {'x'}})"),
              HasSubstr("headers must be a table"));
  EXPECT_THAT(say("return troupe.http.get('http://x', {headers = {a = 1}})"),
              HasSubstr("headers must be a table"));
  EXPECT_THAT(say("return troupe.http.get('http://x', {headers = {a = 'b\\nc: d'}})"),
              HasSubstr("the value of the header 'a' must be a single line"));
  EXPECT_THAT(say("return troupe.http.get('http://x', {headers = {Host = 'y'}})"),
              HasSubstr("'Host' is set by the client itself"));
  EXPECT_THAT(say("return troupe.http.request{}"), HasSubstr("url is missing"));
  EXPECT_THAT(say("return troupe.http.request{url = 'http://x', method = 'G T'}"),
              HasSubstr("the method must be a token"));
  EXPECT_EQ(application_->statistics().fetched, 0U);
}

TEST_F(outgoing_scripts, others_run_while_a_request_waits) {
  begin();
  std::atomic<bool> go_on{false};
  raw_server slow([&](raw_client& peer, int) {
    raw_server::read_head(peer);
    while (!go_on) peer.readable_within(std::chrono::milliseconds(1));
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nslow");
  });
  client_->say("return troupe.http.get('http://127.0.0.1:" + std::to_string(slow.port()) +
               "/').body");
  raw_client other = open();
  other.say("return 'other'");
  EXPECT_EQ(other.hear(), "other");
  go_on = true;
  EXPECT_EQ(client_->hear(), "slow");
}

TEST_F(outgoing_scripts, go_only_where_the_configuration_lets_them) {
  options_.outgoing = http::allowed_hosts::only({"example.org:443"});
  begin();
  EXPECT_THAT(say("return troupe.http.get('http://127.0.0.1:%/hello')"),
              StartsWith("nil not allowed: no connection to 127.0.0.1:"));
  EXPECT_THAT(say("return troupe.websocket.connect('ws://127.0.0.1:%/echo')"),
              StartsWith("nil not allowed: no connection to 127.0.0.1:"));
}

TEST_F(outgoing_scripts, requests_during_the_load_of_main_lua_are_an_error) {
  EXPECT_THAT(problem("troupe.http.get('http://127.0.0.1:1/') return {on_message = print}"),
              HasSubstr("cannot wait here"));
}

TEST_F(outgoing_scripts, a_request_that_waits_ends_with_the_application) {
  begin();
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  client_->say("troupe.http.get('http://127.0.0.1:" + std::to_string(silent.port()) + "/')");
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().waiting == 1; }));
  EXPECT_TRUE(application_->stop(std::chrono::seconds(10)));
}

// ── troupe.websocket ──────────────────────────────────────────────────────────────────────────

TEST_F(outgoing_scripts, connect_send_and_receive) {
  begin();
  EXPECT_EQ(say("local c, why = troupe.websocket.connect('ws://127.0.0.1:%/echo') "
                "assert(c, why) assert(c:send('hello')) local a, b = c:receive() "
                "assert(c:send_binary('\\0\\255')) local d, e = c:receive(20) "
                "return a, b, #d, e, c:is_open(), c:protocol() == ''"),
            "hello false 2 true true true");
}

TEST_F(outgoing_scripts, receive_gives_up_in_time) {
  begin();
  EXPECT_EQ(say("c = troupe.websocket.connect('ws://127.0.0.1:%/echo') return c:receive(0.02)"),
            "nil timeout");
  EXPECT_EQ(say("c:send('still there') return c:receive(20)"), "still there false");
}

TEST_F(outgoing_scripts, a_closed_connection_returns_its_code_and_reason) {
  begin();
  EXPECT_EQ(say("c = troupe.websocket.connect('ws://127.0.0.1:%/echo') c:close(4001, 'enough') "
                "return c:receive()"),
            "nil closed 4001 enough");
  EXPECT_EQ(say("return c:receive()"), "nil closed");
  EXPECT_EQ(say("return c:send('x'), c:send_binary('x'), c:is_open(), c:close()"),
            "false false false");
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().connections == 0; }));
}

TEST_F(outgoing_scripts, on_message_and_on_close_are_called) {
  begin();
  EXPECT_EQ(
      say("local done = false "
          "local c = troupe.websocket.connect('ws://127.0.0.1:%/echo', {"
          "on_message = function(c, data, binary) table.insert(got, data .. tostring(binary)) "
          "if #got == 2 then c:close(1000, 'bye') end end, "
          "on_close = function(c, code, reason) table.insert(got, code .. reason) done = true "
          "end}) "
          "c:send('one') c:send_binary('two') while not done do troupe.sleep(0.001) end "
          "return table.concat(got, ' ')"),
      "onefalse twotrue 1000bye");
}

TEST_F(outgoing_scripts, an_error_in_on_message_fails_that_message) {
  begin();
  EXPECT_EQ(say("local n = 0 local c = troupe.websocket.connect('ws://127.0.0.1:%/echo', {"
                "on_message = function(c, data) n = n + 1 if data == 'bad' then error('as told') "
                "end end}) "
                "c:send('bad') c:send('good') while n < 2 do troupe.sleep(0.001) end "
                "return c:is_open()"),
            "true");
  EXPECT_EQ(application_->statistics().failures, 1U);
  EXPECT_THAT(log_.lines(1)[0], HasSubstr("as told"));
}

TEST_F(outgoing_scripts, protocols_and_headers_are_sent) {
  begin();
  http::test::diary asked;
  raw_server peer([&](raw_client& p, int) {
    asked.write(raw_server::agree(p, "Sec-WebSocket-Protocol: b\r\n"));
    p.read_to_end();
  });
  EXPECT_EQ(say("local c = troupe.websocket.connect('ws://127.0.0.1:%/x', "
                "{protocols = {'a', 'b'}, headers = {['X-Key'] = 'k'}, timeout = 20}) return "
                "c:protocol()",
                peer),
            "b");
  EXPECT_THAT(asked.lines(1).at(0),
              AllOf(HasSubstr("Sec-WebSocket-Protocol: a, b\r\n"), HasSubstr("X-Key: k\r\n")));
  application_->stop(std::chrono::seconds(10));
}

TEST_F(outgoing_scripts, failed_connections_return_nil_and_the_reason) {
  begin();
  EXPECT_EQ(say("return troupe.websocket.connect('ws://127.0.0.1:%/hello')"),
            "nil refused: the response status is 200 OK");
  EXPECT_THAT(say("return troupe.websocket.connect('ws://127.0.0.1:1/')"),
              StartsWith("nil connect: "));
  raw_server silent([](raw_client& peer, int) { peer.read_to_end(); });
  EXPECT_THAT(say("return troupe.websocket.connect('ws://127.0.0.1:%/', {timeout = 0.05})", silent),
              StartsWith("nil timeout: "));
  // A reply may arrive before it is counted.
  EXPECT_TRUE(http::test::comes_true([&] {
    return application_->statistics().outgoing_failures == 3 &&
           application_->statistics().connections == 0;
  }));
}

TEST_F(outgoing_scripts, misuse_of_connections_is_an_error) {
  begin();
  EXPECT_THAT(say("return troupe.websocket.connect('http://x')"),
              HasSubstr("must begin with ws:// or wss://"));
  EXPECT_THAT(say("return troupe.websocket.connect('ws://x', {on_mesage = print})"),
              HasSubstr("unknown option 'on_mesage'"));
  EXPECT_THAT(say("return troupe.websocket.connect('ws://x', {on_message = 1})"),
              HasSubstr("on_message must be a function"));
  EXPECT_THAT(say("return troupe.websocket.connect('ws://x', {protocols = 'a'})"),
              HasSubstr("protocols must be an array of strings"));
  EXPECT_THAT(say("return troupe.websocket.connect('ws://x', {protocols = {'a b'}})"),
              HasSubstr("is not a token of HTTP"));
  EXPECT_THAT(say("c = troupe.websocket.connect('ws://127.0.0.1:%/echo', {on_message = print}) "
                  "return c:receive()"),
              HasSubstr("has an on_message handler"));
  EXPECT_THAT(say("return c:send('\\255')"), HasSubstr("the text must be UTF-8"));
  EXPECT_THAT(say("return c:send(1)"), HasSubstr("string expected"));
  EXPECT_THAT(say("return c:close(999)"), HasSubstr("1000 to 1003"));
  EXPECT_THAT(say("return c.send('x')"), HasSubstr("troupe.connection expected"));
  EXPECT_THAT(say("return getmetatable(c)"), "a connection");
}

TEST_F(outgoing_scripts, two_handlers_do_not_receive_from_one_connection) {
  begin();
  client_->say("c = troupe.websocket.connect('ws://127.0.0.1:" + std::to_string(peer_->port()) +
               "/echo') ready = true return c:receive()");
  raw_client other = open();
  other.say("while not ready do troupe.sleep(0.001) end return c:receive()");
  EXPECT_THAT(other.hear(), HasSubstr("another handler is already receiving from this connection"));
  other.say("return c:send('go')");
  EXPECT_EQ(other.hear(), "true");
  EXPECT_EQ(client_->hear(), "go false");
}

TEST_F(outgoing_scripts, an_instance_has_no_more_connections_than_it_may) {
  options_.limits.connections = 2;
  begin();
  EXPECT_EQ(say("all = {} for i = 1, 2 do all[i] = "
                "troupe.websocket.connect('ws://127.0.0.1:%/echo') end return #all"),
            "2");
  EXPECT_THAT(say("return troupe.websocket.connect('ws://127.0.0.1:%/echo')"),
              HasSubstr("2 connections are open already, which is the limit"));
  // A connection to which no script refers is closed.
  EXPECT_EQ(say("all = nil for i = 1, 300000 do local x = {i} end return 1"), "1");
  EXPECT_EQ(say("return troupe.websocket.connect('ws://127.0.0.1:%/echo') ~= nil"), "true");
  EXPECT_TRUE(http::test::comes_true([&] { return peer_->statistics().websockets <= 2; }));
}

TEST_F(outgoing_scripts, a_variable_with_close_closes) {
  begin();
  EXPECT_EQ(say("do local c <close> = troupe.websocket.connect('ws://127.0.0.1:%/echo') end return "
                "'done'"),
            "done");
  EXPECT_TRUE(http::test::comes_true([&] { return peer_->statistics().websockets == 0; }));
}

TEST_F(outgoing_scripts, a_peer_that_floods_is_held_back) {
  begin();
  std::atomic<std::size_t> sent{0};
  std::atomic<bool> over{false};
  const std::string message =
      raw_client::frame(raw_client::text, std::string(60'000, 'x'), true, 0, false);
  raw_server flooding([&](raw_client& p, int) {
    raw_server::agree(p);
    while (!over) {
      if (p.send_some(message) == 0) p.readable_within(std::chrono::milliseconds(1));
      ++sent;
    }
  });
  EXPECT_EQ(say("c = troupe.websocket.connect('ws://127.0.0.1:%/') return #c:receive()", flooding),
            "60000");
  EXPECT_TRUE(http::test::comes_true([&] { return sent > 1000; }));
  EXPECT_LT(application_->statistics().memory_bytes, 8'000'000U);
  over = true;
  EXPECT_EQ(say("c:close() return 1"), "1");
}

TEST_F(outgoing_scripts, unread_messages_of_all_connections_share_one_limit) {
  options_.limits.memory_bytes = 8 * 1024 * 1024;
  options_.limits.memory_warning_bytes = 6 * 1024 * 1024;
  begin();
  const std::string message =
      raw_client::frame(raw_client::binary, std::string(1'000'000, 'x'), true, 0, false);
  raw_server generous([&](raw_client& p, int) {
    raw_server::agree(p);
    for (int i = 0; i < 4; ++i) p.send(message);  // as many as one connection may keep
    (void)p.read_some();                          // the close frame
  });
  EXPECT_EQ(say("all, one = {} for i = 1, 3 do all[i] = "
                "troupe.websocket.connect('ws://127.0.0.1:%/') end "
                "repeat troupe.sleep(0.001) for _, c in ipairs(all) do if not c:is_open() then one "
                "= c end end until one "
                "local n, d, why, code = 0 repeat d, why, code = one:receive() "
                "if d then n = n + 1 end until not d return why, code, n < 4",
                generous),
            "closed 1013 true");
  // Received messages free space.
  EXPECT_EQ(say("for _, o in ipairs(all) do while o:receive(0.05) do end o:close() end "
                "c = troupe.websocket.connect('ws://127.0.0.1:%/') for i = 1, 4 do "
                "c:receive() end local is = c:is_open() c:close() return is",
                generous),
            "true");
}

TEST_F(outgoing_scripts, connections_end_with_the_application) {
  begin();
  EXPECT_EQ(
      say("c = troupe.websocket.connect('ws://127.0.0.1:%/echo', {on_message = print}) return 1"),
      "1");
  EXPECT_TRUE(http::test::comes_true([&] { return peer_->statistics().websockets == 1; }));
  application_->stop(std::chrono::seconds(10));
  EXPECT_TRUE(http::test::comes_true([&] { return peer_->statistics().websockets == 0; }));
}

TEST_F(outgoing_scripts, connections_end_with_their_incarnation) {
  options_.limits.memory_bytes = 2 * 1024 * 1024;
  options_.limits.memory_warning_bytes = 1024 * 1024;
  begin();
  EXPECT_EQ(
      say("c = troupe.websocket.connect('ws://127.0.0.1:%/echo', {on_message = print}) return 1"),
      "1");
  client_->say("hoard = {} for i = 1, 1e9 do hoard[i] = ('x'):rep(1000) .. i end");
  for (int i = 0; i < 20; ++i) client_->say("return ('x'):rep(1000000)");
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().restarts == 1; }));
  EXPECT_TRUE(http::test::comes_true([&] { return peer_->statistics().websockets == 0; }));
}

}  // namespace
}  // namespace troupe::lua::test
