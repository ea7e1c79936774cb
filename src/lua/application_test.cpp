// SPDX-License-Identifier: Apache-2.0

#include <troupe/lua/application.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>

#include <set>
#include <string>
#include <vector>

#include "running_application.hpp"

namespace troupe::lua::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(running_application, echoes_text_and_binary_messages) {
  start(
      "return {on_message = function(client, data, binary) "
      "if binary then client:send_binary(data) else client:send(data) end end}");
  raw_client client = open();
  client.say("hello");
  EXPECT_EQ(client.hear(), "hello");
  client.send(raw_client::frame(raw_client::binary, std::string("\xff\0\1", 3)));
  const http::test::ws_frame got = client.read_frame();
  EXPECT_EQ(got.opcode, 2);
  EXPECT_EQ(got.payload, std::string("\xff\0\1", 3));
  EXPECT_EQ(application_->kind(), application_kind::raw);
  // A reply may arrive before it is counted.
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().messages_out == 2; }));
  const application_statistics counts = application_->statistics();
  EXPECT_EQ(counts.messages_in, 2U);
  EXPECT_EQ(counts.clients, 1U);
}

TEST_F(running_application, on_open_and_on_close_are_called_for_each_client) {
  start(
      "local seen = {} return {"
      "on_open = function(client) client.data.name = client:parameter('name') print('open', "
      "client.data.name) end, "
      "on_message = function(client) client:close(4001, 'enough') end, "
      "on_close = function(client, code, reason) print('close', client.data.name, code, reason, "
      "client:is_open(), "
      "client:send('x')) end}");
  raw_client client = open("/app?name=ann");
  client.say("go");
  EXPECT_EQ(client.read_close().code(), 4001);
  client.hang_up();
  EXPECT_THAT(log_.lines(2),
              ElementsAre("info: open\tann", "info: close\tann\t4001\tenough\tfalse\tfalse"));
}

TEST_F(running_application, messages_before_a_violation_are_answered_before_the_close) {
  start(
      "return {on_message = function(client, data) "
      "if data == 'wait' then troupe.sleep(0.01) end client:send('> ' .. data) end, "
      "on_close = function(client, code) print('close', code) end}");
  raw_client client = open();
  client.send(raw_client::frame(raw_client::text, "at once") +
              raw_client::frame(raw_client::text, "wait") +
              raw_client::frame(raw_client::text, "\xff"));
  EXPECT_EQ(client.hear(), "> at once");
  EXPECT_EQ(client.hear(), "> wait");
  EXPECT_EQ(client.read_close().code(), 1007);
  client.hang_up();
  EXPECT_THAT(log_.lines(1), ElementsAre("info: close\t1007"));
}

TEST_F(running_application, an_error_fails_one_message) {
  start(
      "return {on_message = function(client, data) if data == 'bad' then error('no ' .. data) end "
      "client:send(data) end}");
  raw_client client = open();
  client.say("bad");
  client.say("good");
  EXPECT_EQ(client.hear(), "good");
  const auto lines = log_.lines(1);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], AllOf(StartsWith("error: "), HasSubstr("main.lua:1: no bad"),
                              HasSubstr("stack traceback:"), HasSubstr("in function")));
  EXPECT_EQ(application_->statistics().failures, 1U);
}

TEST_F(running_application, an_endless_loop_fails_one_message) {
  options_.limits.run_timeout = std::chrono::milliseconds(20);
  start(
      "return {on_message = function(client, data) while data == 'loop' do end client:send(data) "
      "end}");
  raw_client client = open();
  client.say("loop");
  client.say("good");
  EXPECT_EQ(client.hear(), "good");
  EXPECT_THAT(log_.lines(1).at(0), HasSubstr("ran for more than 20 ms without waiting"));
  EXPECT_EQ(application_->statistics().out_of_time, 1U);
}

TEST_F(running_application, each_endless_loop_is_ended) {
  options_.limits.run_timeout = std::chrono::milliseconds(20);
  start(
      "return {on_message = function(client, data) "
      "local x <close> = setmetatable({}, {__close = function() while data == 'close' do end end}) "
      "while data ~= 'good' do end client:send(data) end}");
  raw_client client = open();
  for (int i = 0; i < 3; ++i) {
    client.say("loop");
    client.say("close");
    client.say("good");
    EXPECT_EQ(client.hear(), "good");
  }
  EXPECT_EQ(application_->statistics().out_of_time, 6U);
}

TEST_F(running_application, data_outside_the_script_memory_is_bounded) {
  start(
      "return {on_message = function(client, data) "
      "if data == 'print' then local s = ('x'):rep(60000) print(s, s, s) "
      "else troupe.room(('x'):rep(257)) end end}");
  raw_client client = open();
  client.say("print");
  client.say("room");
  const auto lines = log_.lines(2);
  EXPECT_THAT(lines.at(0), testing::EndsWith("x (and 114465 bytes more)"));
  EXPECT_EQ(lines.at(0).size(), std::string("info: ").size() + 65536 + 24);
  EXPECT_THAT(lines.at(1), HasSubstr("a room name has at most 256 bytes"));
}

TEST_F(running_application, handles_others_while_one_waits) {
  start(
      "local first return {on_message = function(client, data) "
      "if data == 'wait' then repeat troupe.sleep(0.001) until first client:send('waited for ' .. "
      "first) "
      "else first = data client:send('went on') end end}");
  raw_client client = open();
  client.say("wait");
  client.say("it");
  EXPECT_EQ(client.hear(), "went on");
  EXPECT_EQ(client.hear(), "waited for it");
}

TEST_F(running_application, handlers_may_wait_inside_their_own_coroutines) {
  start(
      "return {on_message = function(client, data) "
      "local made = coroutine.wrap(function(a) local b = coroutine.yield(a .. '1') "
      "troupe.sleep(0.001) "
      "local c = coroutine.yield(b .. '2') troupe.sleep(0) return c .. '3' end) "
      "client:send(made('a') .. made('b') .. made('c')) end}");
  raw_client client = open();
  client.say("x");
  EXPECT_EQ(client.hear(), "a1b2c3");
}

TEST_F(running_application, timers_fire_once_or_repeatedly_until_they_are_cancelled) {
  start(
      "return {on_message = function(client) local n = 0 local t "
      "t = troupe.every(0.001, function() n = n + 1 client:send('again ' .. n) if n == 3 then "
      "client:send(tostring(t:cancel()) .. tostring(t:cancel())) end end) "
      "troupe.after(0, function() client:send('once') end) end}");
  raw_client client = open();
  client.say("x");
  std::vector<std::string> got;
  for (int i = 0; i < 5; ++i) got.push_back(client.hear());
  EXPECT_THAT(got,
              testing::UnorderedElementsAre("once", "again 1", "again 2", "again 3", "truefalse"));
}

TEST_F(running_application, a_room_reaches_its_members) {
  start(
      "local room = troupe.room('all') return {"
      "on_open = function(client) room:join(client) client:send('joined ' .. room:count()) end, "
      "on_message = function(client, data) client:send('reached ' .. room:send(data, client)) end, "
      "on_close = function() print('left', room:count()) end}");
  raw_client a = open();
  EXPECT_EQ(a.hear(), "joined 1");
  raw_client b = open();
  EXPECT_EQ(b.hear(), "joined 2");
  a.say("hello");
  EXPECT_EQ(a.hear(), "reached 1");
  EXPECT_EQ(b.hear(), "hello");
}

TEST_F(running_application, ask_returns_the_reply_or_error_of_another_application) {
  start(
      "return {on_message = function(client, data) local got, why = troupe.ask('other', data, {1, "
      "2, x = nil}, {timeout = 2}) "
      "client:send(got and 'got ' .. got.sum or 'none: ' .. why) end, "
      "calls = {hi = function() return {sum = 0} end}}");
  const auto other = make("other",
                          "return {calls = {add = function(v) return {sum = v[1] + v[2]} end, "
                          "slow = function(v) troupe.sleep(0.001) return {sum = 7} end, "
                          "bad = function() error('not today', 0) end}}");
  raw_client client = open();
  client.say("add");
  EXPECT_EQ(client.hear(), "got 3");
  client.say("slow");
  EXPECT_EQ(client.hear(), "got 7");
  client.say("bad");
  EXPECT_EQ(client.hear(), "none: not today");
  client.say("what");
  EXPECT_EQ(client.hear(), "none: 'other' has no 'what' in its calls");
}

// Replies with the value it received, and fails unknown requests.
class mirror : public actor {
 public:
  answer on(const call& m) {
    return m.method == "show" ? answer{.ok = true, .value = m.value} : answer::error("only show");
  }
};

TEST_F(running_application, ask_reaches_a_cpp_actor_by_its_name) {
  among_.add("mirror", system_.spawn<mirror>());
  EXPECT_THROW(among_.add("mirror", system_.spawn<mirror>()), std::invalid_argument);
  start(
      "return {on_message = function(client, data) local got, why = troupe.ask('mirror', data, {7, "
      "'x'}) "
      "client:send(got and got[1] .. got[2] or why) end}");
  raw_client client = open();
  client.say("show");
  EXPECT_EQ(client.hear(), "7x");
  client.say("hide");
  EXPECT_EQ(client.hear(), "only show");
}

TEST_F(running_application, configuration_and_modules_are_available_to_scripts) {
  options_.config = R"({"greeting": "good day", "list": [1, 2.5, null]})";
  files_ = {{"words.lua", "return {shout = function(s) return s:upper() end}"},
            {"deep/er.lua", "return (...) .. '!'"},
            {"cycle.lua", "return require('cycle')"}};
  start(
      "local words = require('words') return {on_message = function(client) "
      "client:send(words.shout(troupe.config.greeting) .. #troupe.config.list .. "
      "require('deep.er') .. "
      "troupe.application .. troupe.instance) "
      "client:send(select(2, pcall(require, 'nothing'))) client:send(select(2, pcall(require, "
      "'../main'))) "
      "client:send(select(2, pcall(require, 'cycle'))) end}");
  raw_client client = open();
  client.say("x");
  EXPECT_EQ(client.hear(), "GOOD DAY3deep.er!app1");
  EXPECT_THAT(client.hear(),
              HasSubstr("module 'nothing' does not exist in the application's folder"));
  EXPECT_THAT(client.hear(), HasSubstr("'../main' is not a valid module name"));
  EXPECT_THAT(client.hear(), HasSubstr("module 'cycle' requires itself"));
}

TEST_F(running_application, makes_and_checks_tokens) {
  start(
      "local c = troupe.crypto return {on_message = function(client, text) "
      "local all = table.pack(pcall(load(text), c)) for i = 1, all.n do all[i] = tostring(all[i]) "
      "end client:send(table.concat(all, ' ', 2)) end}");
  raw_client client = open();
  const auto say = [&](const std::string& text) {
    client.say("local c = ... return " + text);
    return client.hear();
  };
  // RFC 4231, 4.3 and 4.4
  EXPECT_EQ(say("c.hex(c.hmac_sha256('Jefe', 'what do ya want for nothing?'))"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(say("c.hex(c.hmac_sha256(('\\xaa'):rep(20), ('\\xdd'):rep(50)))"),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(say("#c.hmac_sha256('', '')"), "32");
  EXPECT_EQ(say("c.hex('\\0\\xffa'), c.hex('')"), "00ff61 ");
  EXPECT_EQ(say("#c.random(1), #c.random(65536), c.random(32) == c.random(32)"), "1 65536 false");
  EXPECT_EQ(say("c.equal('', ''), c.equal('a\\0b', 'a\\0b'), c.equal('a\\0b', 'a\\0c'), "
                "c.equal('a', 'ab')"),
            "true true false false");
  EXPECT_THAT(say("c.random(0)"), HasSubstr("1 to 65536 bytes"));
  EXPECT_THAT(say("c.random(65537)"), HasSubstr("1 to 65536 bytes"));
  EXPECT_THAT(say("c.hex(('x'):rep(65537))"), HasSubstr("at most 65536 bytes"));
  EXPECT_THAT(say("c.hmac_sha256(('x'):rep(65537), '')"), HasSubstr("at most 65536 bytes"));
  EXPECT_THAT(say("c.equal('a')"), HasSubstr("bad argument #2 to 'equal'"));
}

TEST_F(running_application, on_stop_runs_and_may_wait) {
  start(
      "return {on_message = function() end, on_stop = function() troupe.sleep(0.001) "
      "print('stopped') end}");
  EXPECT_TRUE(application_->stop(std::chrono::seconds(10)));
  EXPECT_THAT(log_.lines(1), ElementsAre("info: stopped"));
}

TEST_F(running_application, a_standalone_one_runs_by_itself) {
  start("return {run = function() for i = 1, 3 do troupe.sleep(0.001) print(i) end end}");
  EXPECT_EQ(application_->kind(), application_kind::standalone);
  EXPECT_THAT(log_.lines(3), ElementsAre("info: 1", "info: 2", "info: 3"));
}

TEST_F(running_application, a_key_chooses_the_instance) {
  options_.instances = 4;
  options_.key = "query:room";
  start("return {on_message = function(client) client:send(tostring(troupe.instance)) end}");
  const auto instance_of = [&](const std::string& room) {
    raw_client client = open("/app?room=" + room);
    client.say("x");
    return client.hear();
  };
  EXPECT_EQ(instance_of("a"), instance_of("a"));
  std::set<std::string> different;
  for (char c = 'a'; c <= 'z'; ++c) different.insert(instance_of(std::string(1, c)));
  EXPECT_GT(different.size(), 1U);
}

TEST_F(running_application, without_a_key_instances_share_connections_evenly) {
  options_.instances = 2;
  start("return {on_message = function(client) client:send(tostring(troupe.instance)) end}");
  std::vector<raw_client> clients;
  int of_the_first = 0;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(open());
    clients.back().say("x");
    if (clients.back().hear() == "1") ++of_the_first;
  }
  EXPECT_EQ(of_the_first, 2);
}

TEST_F(running_application, an_instance_that_runs_out_of_memory_restarts) {
  options_.limits.memory_bytes = 2'000'000;
  options_.limits.memory_warning_bytes = 1'000'000;
  start(
      "local kept = {} return {on_message = function(client, data) "
      "for i = 1, 100000 do kept[#kept + 1] = {i} end client:send('enough') end}");
  raw_client client = open();
  for (int i = 0; i < 12; ++i) client.say("x");
  EXPECT_EQ(client.read_close().code(), 1012);
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().restarts == 1; }));
  raw_client next = open();
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().clients == 1; }));
  EXPECT_GE(application_->statistics().out_of_memory, 8U);
}

// ── The protocol ──────────────────────────────────────────────────────────────────────────────

struct rpc_application : running_application {
  raw_client open_rpc(const std::string& as = "json") {
    raw_client made = connect();
    EXPECT_EQ(made.upgrade("/app", "Sec-WebSocket-Protocol: troupe.rpc." + as + "\r\n").status,
              101U);
    return made;
  }
};

TEST_F(rpc_application, replies_to_requests) {
  start(
      "return {rpc = {add = function(client, p) return {sum = p.a + p.b} end, none = function() "
      "end, "
      "bad = function() error('secret') end, refuse = function() error({code = 17, message = 'not "
      "your turn'}) end}}");
  raw_client client = open_rpc();
  client.say(R"({"id": 1, "method": "add", "params": {"a": 2, "b": 3}})");
  EXPECT_EQ(client.hear(), R"({"id":1,"result":{"sum":5}})");
  client.say(R"({"id": 2, "method": "none"})");
  EXPECT_EQ(client.hear(), R"({"id":2,"result":null})");
  client.say(R"({"id": 3, "method": "bad"})");
  EXPECT_EQ(
      client.hear(),
      R"({"id":3,"error":{"code":-32603,"message":"the method failed; see the server's log"}})");
  EXPECT_EQ(application_->statistics().failures, 1U);
  client.say(R"({"id": 4, "method": "refuse"})");
  EXPECT_EQ(client.hear(), R"({"id":4,"error":{"code":17,"message":"not your turn"}})");
  EXPECT_EQ(application_->statistics().failures, 1U);
  client.say(R"({"id": 5, "method": "__index"})");
  EXPECT_THAT(client.hear(), AllOf(HasSubstr("-32601"), HasSubstr("\"id\":5")));
  EXPECT_EQ(application_->kind(), application_kind::rpc);
}

TEST_F(rpc_application, understands_cbor) {
  start("return {rpc = {twice = function(client, n) return 2 * n end}}");
  raw_client client = open_rpc("cbor");
  // {"id": 1, "method": "twice", "params": 21}
  client.send(
      raw_client::frame(raw_client::binary, "\xa3\x62id\x01\x66method\x65twice\x66params\x15"));
  const http::test::ws_frame got = client.read_frame();
  EXPECT_EQ(got.opcode, raw_client::binary);
  EXPECT_EQ(got.payload, "\xa2\x62id\x01\x66result\x18\x2a");
}

TEST_F(rpc_application, calls_on_one_channel_run_one_at_a_time_in_order) {
  start("return {rpc = {wait = function(client, s) troupe.sleep(s) return s end}}");
  raw_client client = open_rpc();
  client.say(R"({"id": 1, "ch": 1, "method": "wait", "params": 0.02})");
  client.say(R"({"id": 2, "ch": 1, "method": "wait", "params": 0})");
  client.say(R"({"id": 3, "ch": 1, "method": "nothing"})");
  client.say(R"({"id": 4, "ch": 1, "method": "wait", "params": 0})");
  for (const char* id : {"\"id\":1,", "\"id\":2,", "\"id\":3,", "\"id\":4,"})
    EXPECT_THAT(client.hear(), HasSubstr(id));
}

TEST_F(rpc_application, calls_of_channel_0_do_not_wait_for_each_other) {
  start(
      "local go return {rpc = {wait = function() repeat troupe.sleep(0.001) until go return "
      "'waited' end, "
      "go = function() go = true return 'went' end}}");
  raw_client client = open_rpc();
  client.say(R"({"id": 1, "method": "wait"})");
  client.say(R"({"id": 1, "method": "go"})");
  EXPECT_THAT(client.hear(), AllOf(HasSubstr("\"id\":null"), HasSubstr("-32600"),
                                   HasSubstr("id: 1 is in use by an open request")));
  client.say(R"({"id": 2, "method": "go"})");
  EXPECT_EQ(client.hear(), R"({"id":2,"result":"went"})");
  EXPECT_EQ(client.hear(), R"({"id":1,"result":"waited"})");
}

// The arguments of a call are in the Lua state, where memory_bytes counts them, and nowhere else.
TEST_F(rpc_application, a_call_that_waits_does_not_keep_its_text) {
  options_.limits.memory_warning_bytes = 256 * 1024;  // collects garbage after each message
  http::options with = on_free_port();
  with.limits.message_bytes = 2 * 1024 * 1024;
  start(
      "local go return {rpc = {hold = function() repeat troupe.sleep(0.001) until go return true "
      "end, go = function() go = true end}}",
      with);
  raw_client client = open_rpc();
  const std::string pad(900'000, 'x');
  const auto held = [] {
    const auto all = mallinfo2();
    return all.uordblks + all.hblkhd;
  };
  const std::size_t before = held();
  for (int i = 0; i < 12; ++i) {
    client.say(R"({"id": )" + std::to_string(i) + R"(, "method": "hold", "pad": ")" + pad +
               R"("})");
  }
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().waiting == 12; }));
  EXPECT_TRUE(http::test::comes_true([&] { return held() < before + 4 * 1024 * 1024; }));
  client.say(R"({"id": 12, "method": "go"})");
  for (int i = 0; i <= 12; ++i) EXPECT_THAT(client.hear(), HasSubstr("\"result\":"));
}

TEST_F(rpc_application, calls_that_wait_for_their_channel_are_bounded_in_bytes) {
  options_.limits.mailbox_bytes = 64 * 1024;
  start(
      "local go = 0 return {rpc = {wait = function() repeat troupe.sleep(0.001) until go > 0 "
      "go = go - 1 return true end, go = function(client, n) go = n return true end}}");
  const std::string pad(18'000, 'x');
  const auto call = [&](int id) {
    return R"({"id": )" + std::to_string(id) + R"(, "ch": 1, "method": "wait", "pad": ")" + pad +
           R"("})";
  };
  // Its texts are released with the connection, whatever has become of its calls.
  raw_client gone = open_rpc();
  for (int i = 1; i <= 4; ++i) gone.say(call(i));
  gone.say(R"({"id": 5, "method": "go", "params": 0})");
  EXPECT_EQ(gone.hear(), R"({"id":5,"result":true})");
  gone.hang_up();
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().clients == 0; }));

  raw_client client = open_rpc();
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i <= 4; ++i) client.say(call(i));
    client.say(call(5));
    EXPECT_THAT(client.hear(), AllOf(HasSubstr("\"id\":5"), HasSubstr("-32000"),
                                     HasSubstr("exceed mailbox_bytes")));
    client.say(R"({"id": 6, "method": "go", "params": 5})");
    std::multiset<std::string> answers;
    for (int i = 0; i < 5; ++i) answers.insert(client.hear());
    for (int i : {1, 2, 3, 4, 6}) {
      EXPECT_EQ(answers.count("{\"id\":" + std::to_string(i) + ",\"result\":true}"), 1U) << i;
    }
    client.say(R"({"id": 7, "method": "go", "params": 0})");
    EXPECT_EQ(client.hear(), R"({"id":7,"result":true})");
  }
  EXPECT_EQ(application_->statistics().overloaded, 3U);
}

// Whether the message is a request, and of which id, is not known.
TEST_F(rpc_application, a_message_for_which_there_is_no_memory_gets_an_error_reply) {
  options_.limits.memory_bytes = 1'000'000;
  options_.limits.memory_warning_bytes = 500'000;
  start("return {rpc = {count = function(client, list) return #list end}}");
  raw_client client = open_rpc();
  std::string list = "1";
  for (int i = 0; i < 20'000; ++i) list += ",{}";
  for (int round = 1; round <= 3; ++round) {
    client.say(R"({"id": 1, "ch": 1, "method": "count", "params": [)" + list + "]}");
    EXPECT_THAT(client.hear(),
                AllOf(HasSubstr("\"id\":null"), HasSubstr("-32001"), HasSubstr("memory")));
    // The value is released, its channel is free, and the id may be used.
    client.say(R"({"id": 1, "ch": 1, "method": "count", "params": [1, 2]})");
    EXPECT_EQ(client.hear(), R"({"id":1,"result":2})");
    EXPECT_EQ(application_->statistics().out_of_memory, static_cast<unsigned>(round));
  }
  EXPECT_EQ(application_->statistics().restarts, 0U);
}

TEST_F(rpc_application, a_method_that_exceeds_run_timeout_is_killed_with_an_error_reply) {
  options_.limits.run_timeout = std::chrono::milliseconds(20);
  start("return {rpc = {loop = function() while true do end end}}");
  raw_client client = open_rpc();
  client.say(R"({"id": 1, "method": "loop"})");
  EXPECT_EQ(
      client.hear(),
      R"({"id":1,"error":{"code":-32001,"message":"ran for more than 20 ms without waiting"}})");
}

TEST_F(rpc_application, notifications_go_to_one_or_to_a_room) {
  start(
      "local room = troupe.room('all') return {on_open = function(client) room:join(client) "
      "client:notify('welcome', {n = room:count()}) end, "
      "rpc = {say = function(client, p) return room:notify('said', p, client) end, "
      "raw = function(client) client:send('x') end}}");
  raw_client a = open_rpc();
  EXPECT_EQ(a.hear(), R"({"method":"welcome","params":{"n":1}})");
  raw_client b = open_rpc("cbor");
  b.hear();
  raw_client c = open_rpc();
  c.hear();
  a.say(R"({"id": 1, "method": "say", "params": "hi"})");
  EXPECT_EQ(a.hear(), R"({"id":1,"result":2})");
  EXPECT_EQ(c.hear(), R"({"method":"said","params":"hi"})");
  EXPECT_EQ(b.hear(), "\xa2\x66method\x64said\x66params\x62hi");
  a.say(R"({"id": 2, "method": "raw"})");
  EXPECT_THAT(a.hear(), HasSubstr("-32603"));
  EXPECT_THAT(log_.lines(1).at(0), HasSubstr("client:notify(method, params)"));
}

TEST_F(rpc_application, malformed_messages_get_errors_and_then_close_the_connection) {
  start("return {rpc = {}}");
  raw_client client = open_rpc();
  for (int i = 0; i < 16; ++i) {
    client.say("{");
    EXPECT_THAT(client.hear(), AllOf(HasSubstr("-32700"), HasSubstr("\"id\":null")));
  }
  EXPECT_EQ(client.read_close().code(), 1008);
  EXPECT_EQ(application_->statistics().malformed, 16U);
}

TEST_F(rpc_application, a_client_without_the_subprotocol_is_refused) {
  start("return {rpc = {}}");
  EXPECT_EQ(connect().upgrade("/app").status, 400U);
  EXPECT_EQ(connect().upgrade("/app", "Sec-WebSocket-Protocol: other\r\n").status, 400U);
}

// ── Applications that cannot start ────────────────────────────────────────────────────────────

TEST_F(running_application, errors_in_scripts_are_reported_at_the_start) {
  EXPECT_THAT(problem("return {on_message = function( end}"), HasSubstr("main.lua:1: "));
  EXPECT_THAT(problem("error('no')"),
              AllOf(HasSubstr("main.lua:1: no"), HasSubstr("stack traceback")));
  EXPECT_THAT(problem("while true do end"), HasSubstr("ran for more than"));
  EXPECT_THAT(problem("return 1"), HasSubstr("must return a table"));
  EXPECT_THAT(problem("return {}"), HasSubstr("must return on_message, rpc, run or calls"));
  EXPECT_THAT(problem("return {on_message = 1}"),
              HasSubstr("on_message must be a function; it is number"));
  EXPECT_THAT(problem("return {on_message = print, run = print}"),
              HasSubstr("both on_message and run"));
  EXPECT_THAT(problem("troupe.sleep(1) return {}"), HasSubstr("cannot wait here"));
  EXPECT_THAT(problem("return {on_message = print, on_start = function() error('not now', 0) end}"),
              HasSubstr("does not start: on_start failed: not now"));
}

TEST_F(running_application, invalid_options_are_reported_at_the_start) {
  options_.name = "a b";
  EXPECT_THAT(problem("return {on_message = print}"),
              HasSubstr("'a b' is not a valid application name"));
  options_.name = "app";
  options_.instances = 0;
  EXPECT_THAT(problem("return {on_message = print}"),
              HasSubstr("instances is 0; allowed are 1 to 1024"));
  options_.instances = 1;
  options_.key = "cookie";
  EXPECT_THAT(problem("return {on_message = print}"), HasSubstr("key is 'cookie'"));
  options_.key = "";
  options_.config = "{";
  EXPECT_THAT(problem("return {on_message = print}"),
              HasSubstr("the configuration is not valid JSON"));
  options_.config = "{}";
  options_.limits.memory_bytes = 1;
  EXPECT_THAT(problem("return {on_message = print}"),
              HasSubstr("memory_bytes is 1; the minimum is 262144"));
}

}  // namespace
}  // namespace troupe::lua::test
