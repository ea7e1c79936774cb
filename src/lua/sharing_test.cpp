// SPDX-License-Identifier: Apache-2.0

// The functions for shared state, one by one, across instances and applications.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <troupe/lua/application.hpp>
#include <troupe/sim/simulation.hpp>

#include "from_bin.hpp"
#include "running_application.hpp"

namespace troupe::lua::test {
namespace {

using namespace std::chrono_literals;
using http::test::comes_true;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// An application that runs the Lua code of its clients and replies with its results as text. `app`
// keeps data for the tests.
const std::string runs_texts = R"(
  local app = {}
  local function show(v)
    if type(v) ~= 'table' then return tostring(v) end
    local names, parts = {}, {}
    for name in pairs(v) do names[#names + 1] = name end
    table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
    for i, name in ipairs(names) do parts[i] = tostring(name) .. '=' .. show(v[name]) end
    return '{' .. table.concat(parts, ' ') .. '}'
  end
  local function run(client, text)
    local f = assert(load('local app, client, show = ... ' .. text, '=text'))
    local got = table.pack(pcall(f, app, client, show))
    for i = 1, got.n do got[i] = show(got[i]) end
    return table.concat(got, ' ', got[1] == 'true' and 2 or 1)
  end
)";
const std::string raw =
    runs_texts +
    "return {on_message = function(client, text) client:send(run(client, text)) "
    "end, calls = {run = function(text) return run(nil, text) end}}";
const std::string rpc =
    runs_texts + "return {rpc = {run = function(client, text) return run(client, text) end}}";

class sharing : public running_application {
 protected:
  static std::string ask(raw_client& of, const std::string& text) {
    of.say(text);
    return of.hear();
  }
  /// To be called before the application is created.
  void allow(const shared_limits& allowed) {
    among_ = community(
        system_, [this](const log_line& line) { log_.write(std::string(line.text)); }, allowed);
  }
  /// Returns a figure of the community, by its name and labels as {k="v"}; -1 if it does not exist.
  double figure(const std::string& name, const std::string& labels = "") const {
    for (const auto& family : among_.figures()) {
      if (family.name != name) continue;
      for (const auto& each : family.figures) {
        std::string shown;
        for (const auto& [label, value] : each.labels) {
          shown += (shown.empty() ? "" : ",") + label + "=" + value;
        }
        if (shown == labels) return each.value;
      }
    }
    return -1;
  }
  /// Makes the instance of this client fail, as one without memory does, and be restarted.
  void fail_instance_of(raw_client& client) {
    const std::uint64_t before = application_->statistics().restarts;
    for (int i = 0; i < 20; ++i) {
      client.say(
          "app.kept = app.kept or {} for i = 1, 99 do app.kept[#app.kept + 1] = ('x'):rep(1e5) "
          "end");
    }
    ASSERT_TRUE(comes_true([&] { return application_->statistics().restarts > before; }));
  }
  void with_little_memory() {
    options_.limits.memory_bytes = 2'000'000;
    options_.limits.memory_warning_bytes = 1'000'000;
  }
};

// ── Values ────────────────────────────────────────────────────────────────────────────────────

TEST_F(sharing, published_values_reach_all_instances_and_applications_in_order) {
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  const auto other = make("other",
                          "troupe.subscribe('news', function(v) print('other', v.n, v.t[1]) end) "
                          "return {calls = {}}");
  const std::string subscribe =
      "troupe.subscribe('news', function(v) print('one', v.n, v.t[1]) end)";
  ask(a, subscribe);
  ask(b, subscribe);
  EXPECT_EQ(ask(a,
                "for i = 1, 20 do app.n = troupe.publish('news', {n = i, t = {true}}) end "
                "return app.n"),
            "3");
  std::vector<std::string> of_other;
  for (const std::string& line : log_.lines(60)) {
    if (line.find("other") != std::string::npos) of_other.push_back(line);
  }
  ASSERT_EQ(of_other.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(of_other[i], "info: other\t" + std::to_string(i + 1) + "\ttrue");
  }
  EXPECT_EQ(ask(a, "return troupe.publish('nobody', 1)"), "0");
  EXPECT_EQ(figure("troupe_topic_values_total", "outcome=accepted"), 60);
  EXPECT_EQ(figure("troupe_topics", "of=values"), 1);
}

TEST_F(sharing, a_subscription_ends_when_it_is_cancelled) {
  start(raw);
  raw_client c = open();
  ask(c,
      "app.first = troupe.subscribe('t', function() print('first') app.second:cancel() end) "
      "app.second = troupe.subscribe('t', function() print('second') end)");
  EXPECT_EQ(ask(c, "return troupe.publish('t', 1)"), "1");
  EXPECT_EQ(ask(c, "return app.second:cancel(), app.first:cancel(), app.first:cancel()"),
            "false true false");
  EXPECT_EQ(ask(c, "return troupe.publish('t', 1)"), "0");
  EXPECT_EQ(ask(c, "print('end')"), "");
  EXPECT_THAT(log_.lines(2), ElementsAre("info: first", "info: end"));
  EXPECT_EQ(figure("troupe_topics", "of=values"), 0);
}

TEST_F(sharing, each_version_has_its_own_subscription_to_a_topic) {
  const std::string subscribes =
      "troupe.subscribe('t', function(v) print('version', v) end) return {on_message = "
      "function(client, data) client:send(data .. troupe.publish('t', 1)) end}";
  start(subscribes);
  raw_client c = open();
  EXPECT_EQ(ask(c, "reaches "), "reaches 1");
  EXPECT_EQ(upgrade(subscribes), "");  // both are subscribed for a moment, then the first one ends
  EXPECT_EQ(ask(c, "reaches "), "reaches 1");
  EXPECT_EQ(figure("troupe_topics", "of=values"), 1);
}

TEST_F(sharing, so_many_handlers_wait_and_no_more) {
  options_.limits.waiting = 2;
  start(raw);
  raw_client first = open();
  raw_client second = open();
  raw_client third = open();
  first.say("troupe.sleep(100)");
  second.say("troupe.sleep(100)");
  ASSERT_TRUE(comes_true([&] { return application_->statistics().waiting == 2; }));
  EXPECT_THAT(ask(third, "troupe.sleep(100)"), HasSubstr("2 handlers are waiting already"));
  EXPECT_EQ(ask(third, "return 'well'"), "well");
}

TEST_F(sharing, a_subscriber_may_wait_and_may_fail) {
  start(raw);
  raw_client c = open();
  ask(c,
      "troupe.subscribe('t', function(v) if v == 1 then error('not that') end troupe.sleep(0) "
      "print(v) end)");
  ask(c, "troupe.publish('t', 1) troupe.publish('t', 2)");
  EXPECT_THAT(log_.lines(2), ElementsAre(HasSubstr("not that"), "info: 2"));
}

TEST_F(sharing, subscriptions_and_topics_are_so_many_and_no_more) {
  options_.limits.subscriptions = 3;
  shared_limits few;
  few.topics = 2;
  few.application_percent = 100;
  allow(few);
  start(raw);
  raw_client c = open();
  EXPECT_EQ(ask(c,
                "troupe.subscribe('a', print) troupe.subscribe('b', print) "
                "return troupe.subscribe('c', print)"),
            "nil too many topics");
  EXPECT_EQ(ask(c, "return troupe.subscribe('a', print) ~= nil"), "true");
  EXPECT_THAT(ask(c, "troupe.subscribe('a', print)"),
              HasSubstr("3 subscriptions exist already, which is the limit"));
}

TEST_F(sharing, misuse_of_topics_is_an_error_that_names_the_problem) {
  start(raw);
  raw_client c = open();
  EXPECT_THAT(ask(c, "troupe.subscribe('', print)"), HasSubstr("a name of 1 to 256 bytes"));
  EXPECT_THAT(ask(c, "troupe.subscribe(('x'):rep(257), print)"), HasSubstr("1 to 256 bytes"));
  EXPECT_THAT(ask(c, "troupe.subscribe('t')"), HasSubstr("function expected"));
  EXPECT_THAT(ask(c, "troupe.publish('t')"),
              HasSubstr("a value is required; use troupe.null for an empty one"));
  EXPECT_THAT(ask(c, "troupe.publish('t', {f = print})"),
              HasSubstr("cannot encode a function at .f"));
  EXPECT_THAT(ask(c, "troupe.topic({})"), HasSubstr("string expected"));
  EXPECT_THAT(ask(c, "troupe.topic('t').join({}, client)"), HasSubstr("troupe.topic expected"));
  EXPECT_THAT(ask(c, "troupe.topic('t'):join(7)"), HasSubstr("troupe.client expected"));
  EXPECT_THAT(ask(c, "troupe.topic('t'):send('\\xff')"), HasSubstr("the text must be UTF-8"));
  EXPECT_EQ(ask(c, "return tostring(troupe.topic('hall')), getmetatable(troupe.topic('x'))"),
            "topic hall a topic");
}

TEST_F(sharing, subscriptions_end_with_their_instance) {
  with_little_memory();
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  for (raw_client* each : {&a, &b}) ask(*each, "troupe.subscribe('t', function() end)");
  EXPECT_EQ(ask(b, "return troupe.publish('t', 1)"), "2");
  fail_instance_of(a);
  EXPECT_EQ(ask(b, "return troupe.publish('t', 1)"), "1");
  application_->stop(10s);
  EXPECT_EQ(figure("troupe_topics", "of=values"), 0);
}

TEST_F(sharing, subscriptions_of_main_lua_are_restored_when_its_instance_restarts) {
  with_little_memory();
  const std::string subscribes = "troupe.subscribe('t', function(v) print(v) end) ";
  start(subscribes + raw);
  raw_client a = open();
  EXPECT_EQ(ask(a, "return troupe.publish('t', 'before')"), "1");
  fail_instance_of(a);
  raw_client b = open();
  EXPECT_EQ(ask(b, "return troupe.publish('t', 'after')"), "1");
  EXPECT_TRUE(comes_true([&] { return log_.lines(0).back() == "info: after"; }));
}

// ── Clients of all instances ──────────────────────────────────────────────────────────────────

TEST_F(sharing, a_topic_reaches_clients_of_all_instances) {
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  raw_client c = open();
  EXPECT_NE(ask(a, "return troupe.instance"), ask(b, "return troupe.instance"));
  const std::string join = "return troupe.topic('hall'):join(client)";
  EXPECT_EQ(ask(a, join), "true");
  EXPECT_EQ(ask(a, join), "false");
  EXPECT_EQ(ask(b, join), "true");
  EXPECT_EQ(ask(c, "return troupe.topic('hall'):count(), troupe.topic('hall'):has(client)"),
            "2 false");
  EXPECT_EQ(ask(c, "return troupe.topic('hall'):send('hello')"), "2");
  EXPECT_EQ(a.hear(), "hello");
  EXPECT_EQ(b.hear(), "hello");
  EXPECT_EQ(ask(a, "return troupe.topic('hall'):send('not you', client)"), "1");
  EXPECT_EQ(b.hear(), "not you");
  EXPECT_EQ(ask(c, "return troupe.topic('hall'):send_binary('\\xff')"), "2");
  EXPECT_EQ(a.read_frame().opcode, raw_client::binary);
  EXPECT_EQ(b.read_frame().payload, "\xff");
  EXPECT_EQ(ask(b, "return troupe.topic('hall'):leave(client), troupe.topic('hall'):leave(client)"),
            "true false");
  EXPECT_EQ(ask(c, "return troupe.topic('hall'):send('x'), troupe.topic('other'):send('x')"),
            "1 0");
  EXPECT_EQ(a.hear(), "x");
}

TEST_F(sharing, a_topic_keeps_the_order_of_each_sender) {
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  ask(a, "troupe.topic('hall'):join(client)");
  b.say("for i = 1, 50 do troupe.topic('hall'):send(tostring(i)) end");
  for (int i = 1; i <= 50; ++i) EXPECT_EQ(a.hear(), std::to_string(i));
}

TEST_F(sharing, a_topic_is_of_one_application) {
  start(raw);
  raw_client a = open();
  ask(a, "troupe.topic('hall'):join(client)");
  const auto other = make("other", raw);
  EXPECT_EQ(
      ask(a, "return (troupe.ask('other', 'run', \"return troupe.topic('hall'):send('x')\"))"),
      "0");
}

TEST_F(sharing, a_disconnected_client_is_removed_from_all_topics) {
  start(raw);
  raw_client a = open();
  {
    raw_client b = open();
    ask(b,
        "app.gone = client troupe.topic('hall'):join(client) "
        "troupe.topic('hall'):track(client)");
    EXPECT_EQ(ask(a, "return troupe.topic('hall'):count(), #troupe.topic('hall'):list()"), "1 1");
    b.hang_up();
  }
  EXPECT_TRUE(comes_true([&] { return application_->statistics().clients == 1; }));
  EXPECT_EQ(ask(a, "return troupe.topic('hall'):count(), #troupe.topic('hall'):list()"), "0 0");
  EXPECT_THAT(ask(a, "troupe.topic('hall'):join(app.gone)"),
              HasSubstr("the client is disconnected"));
  EXPECT_THAT(ask(a, "troupe.topic('hall'):track(app.gone)"),
              HasSubstr("the client is disconnected"));
  EXPECT_EQ(ask(a,
                "return troupe.topic('hall'):leave(app.gone), "
                "troupe.topic('hall'):untrack(app.gone)"),
            "false false");
}

TEST_F(sharing, topics_of_a_client_and_in_all_are_so_many_and_no_more) {
  shared_limits few;
  few.topics = 1'002;
  few.application_percent = 100;
  allow(few);
  start(raw);
  raw_client a = open();
  raw_client b = open();
  EXPECT_THAT(ask(a, "for i = 1, 1001 do troupe.topic('t' .. i):join(client) end"),
              HasSubstr("the client is in 1000 topics already, which is the limit"));
  EXPECT_EQ(ask(a, "return troupe.topic('t1'):track(client)"), "true");
  EXPECT_EQ(ask(b,
                "for i = 1, 2 do assert(troupe.topic('b' .. i):join(client)) end "
                "return troupe.topic('b3'):join(client)"),
            "nil full");
  EXPECT_EQ(figure("troupe_topics_refused_total"), 1);
}

struct rpc_sharing : sharing {
  raw_client open_rpc(const std::string& as) {
    raw_client made = connect();
    EXPECT_EQ(made.upgrade("/app", "Sec-WebSocket-Protocol: troupe.rpc." + as + "\r\n").status,
              101U);
    return made;
  }
  static std::string call(raw_client& of, const std::string& text) {
    of.say(R"({"id": 1, "method": "run", "params": ")" + text + "\"}");
    return of.hear();
  }
};

TEST_F(rpc_sharing, a_topic_notifies_clients_of_all_instances_in_their_encoding) {
  options_.instances = 2;
  start(rpc);
  raw_client a = open_rpc("json");
  raw_client b = open_rpc("json");
  raw_client c = open_rpc("cbor");
  const std::string join = "return troupe.topic('hall'):join(client)";
  for (raw_client* each : {&a, &b}) {
    EXPECT_EQ(call(*each, join), R"({"id":1,"result":"true"})");
  }
  // {"id": 1, "method": "run", "params": …}
  c.send(raw_client::frame(raw_client::binary, "\xa3\x62id\x01\x66method\x63run\x66params\x78" +
                                                   std::string(1, static_cast<char>(join.size())) +
                                                   join));
  EXPECT_EQ(c.hear(), "\xa2\x62id\x01\x66result\x64true");
  EXPECT_EQ(call(b, "return troupe.topic('hall'):notify('said', 'hi', client)"),
            R"({"id":1,"result":"2"})");
  EXPECT_EQ(a.hear(), R"({"method":"said","params":"hi"})");
  EXPECT_EQ(c.hear(), "\xa2\x66method\x64said\x66params\x62hi");
  EXPECT_THAT(call(b, "troupe.topic('hall'):send('x')"),
              HasSubstr("use topic:notify(method, params) instead"));
  EXPECT_THAT(call(b, "troupe.topic('hall'):notify('')"), HasSubstr("a name of 1 to 256 bytes"));
}

TEST_F(sharing, raw_clients_of_a_topic_are_not_notified) {
  start(raw);
  raw_client a = open();
  ask(a, "troupe.topic('hall'):join(client)");
  EXPECT_THAT(ask(a, "troupe.topic('hall'):notify('said')"),
              HasSubstr("use topic:send(text) instead"));
}

// ── Presence ──────────────────────────────────────────────────────────────────────────────────

TEST_F(sharing, presence_is_visible_to_all_instances) {
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  EXPECT_EQ(ask(a, "return troupe.topic('hall'):track(client, {name = 'ann'})"), "true");
  EXPECT_EQ(ask(b, "return troupe.topic('hall'):track(client)"), "true");
  EXPECT_EQ(ask(a, "return troupe.topic('hall'):track(client, {name = 'amy'})"), "false");
  EXPECT_EQ(ask(b, "return troupe.topic('hall'):list()"),
            "{1={id=1 instance=1 meta={name=amy}} 2={id=2 instance=2 meta=null}}");
  EXPECT_EQ(ask(b, "return troupe.topic('hall'):count()"), "0");  // present, but not following
  EXPECT_EQ(
      ask(b, "return troupe.topic('hall'):untrack(client), troupe.topic('hall'):untrack(client)"),
      "true false");
  EXPECT_EQ(ask(a, "return #troupe.topic('hall'):list()"), "1");
  EXPECT_EQ(figure("troupe_presence"), 1);
}

TEST_F(sharing, watchers_are_notified_of_joins_updates_and_leaves) {
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  ask(a,
      "local hall = troupe.topic('hall') "
      "app.on = hall:on_join(function(who) print('join', show(who)) end) "
      "hall:on_update(function(who) print('update', who.id, who.meta) end) "
      "hall:on_leave(function(who) print('leave', who.id, who.meta) end)");
  ask(b,
      "local hall = troupe.topic('hall') hall:track(client, 'x') hall:track(client, 'y') "
      "hall:untrack(client) hall:track(client, 'z')");
  b.hang_up();
  EXPECT_THAT(
      log_.lines(5),
      ElementsAre("info: join\t{id=2 instance=2 meta=x}", "info: update\t2\ty", "info: leave\t2\ty",
                  "info: join\t{id=2 instance=2 meta=z}", "info: leave\t2\tz"));
  EXPECT_EQ(ask(a, "return app.on:cancel()"), "true");
  ask(a, "troupe.topic('hall'):track(client, 'me') troupe.topic('hall'):untrack(client)");
  EXPECT_THAT(log_.lines(6).at(5), "info: leave\t1\tme");
}

TEST_F(sharing, an_instance_that_fails_leaves_once_with_all_its_clients) {
  with_little_memory();
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  raw_client c = open();
  ask(b,
      "app.left = {} troupe.topic('hall'):on_leave(function(who) app.left[#app.left + 1] = who.id "
      "end)");
  for (raw_client* each : {&a, &c}) {
    ask(*each, "troupe.topic('hall'):track(client) troupe.topic('hall'):join(client)");
  }
  fail_instance_of(a);
  EXPECT_TRUE(comes_true([&] { return ask(b, "return #app.left") == "2"; }));
  EXPECT_EQ(ask(b,
                "table.sort(app.left) return app.left, troupe.topic('hall'):count(), "
                "#troupe.topic('hall'):list()"),
            "{1=1 2=3} 0 0");
}

TEST_F(sharing, stopping_an_application_removes_its_presence_and_subscriptions) {
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  for (raw_client* each : {&a, &b}) {
    ask(*each,
        "local hall = troupe.topic('hall') hall:track(client) hall:join(client) "
        "hall:on_join(print) troupe.subscribe('t', print)");
  }
  EXPECT_EQ(figure("troupe_presence"), 2);
  EXPECT_TRUE(application_->stop(10s));
  EXPECT_EQ(figure("troupe_presence"), 0);
  EXPECT_EQ(figure("troupe_topics", "of=clients"), 0);
  EXPECT_EQ(figure("troupe_topics", "of=values"), 0);
}

TEST_F(sharing, presence_has_bounds) {
  shared_limits few;
  few.presence = 1;
  few.application_percent = 100;
  allow(few);
  start(raw);
  raw_client a = open();
  raw_client b = open();
  EXPECT_THAT(ask(a, "troupe.topic('hall'):track(client, ('x'):rep(5000))"),
              HasSubstr("more than 4096 bytes"));
  EXPECT_EQ(ask(a, "return troupe.topic('hall'):track(client)"), "true");
  EXPECT_EQ(ask(b, "return troupe.topic('hall'):track(client)"), "nil full");
  EXPECT_THAT(ask(b, "troupe.topic('hall'):track(client, print)"), HasSubstr("cannot encode"));
}

// ── Queues ────────────────────────────────────────────────────────────────────────────────────

TEST_F(sharing, a_queue_gives_items_of_one_application_to_another) {
  start(raw);
  raw_client c = open();
  const auto other = make("other",
                          "return {run = function() local q = troupe.queue('jobs') while true do "
                          "local job, why = q:pop() print(job and job.n or why) "
                          "if not job then return end end end}");
  EXPECT_EQ(ask(c, "app.q = troupe.queue('jobs') return app.q:push({n = 1}), app.q:push({n = 2})"),
            "true true");
  EXPECT_THAT(log_.lines(2), ElementsAre("info: 1", "info: 2"));
  EXPECT_EQ(ask(c, "return app.q:close(), app.q:close(), app.q:push(1)"), "true false nil closed");
  EXPECT_THAT(log_.lines(3), ElementsAre("info: 1", "info: 2", "info: closed"));
}

TEST_F(sharing, pushing_to_a_full_queue_returns_nil_and_the_reason) {
  shared_limits few;
  few.queues = 2;
  few.application_percent = 100;
  few.queue_bytes = 1'000;
  allow(few);
  start(raw);
  raw_client c = open();
  EXPECT_EQ(ask(c,
                "app.q = troupe.queue('jobs', {capacity = 2}) "
                "return app.q:push(1), app.q:push(2), app.q:count()"),
            "true true 2");
  EXPECT_EQ(ask(c, "return app.q:push(3)"), "nil full");
  EXPECT_EQ(ask(c, "return troupe.queue('big'):push(('x'):rep(1000))"), "nil full");
  EXPECT_EQ(ask(c, "return troupe.queue('third')"), "nil too many queues");
  EXPECT_EQ(figure("troupe_queue_refused_total", "queue=jobs"), 1);
  EXPECT_EQ(figure("troupe_queue_items", "queue=jobs"), 2);
  EXPECT_THAT(ask(c, "troupe.queue('jobs', {capacity = 3})"),
              HasSubstr("the queue has a capacity of 2 already, not 3"));
}

TEST_F(sharing, one_application_does_not_take_all_the_room) {
  shared_limits few;
  few.queues = few.topics = 4;
  allow(few);
  start(raw);
  raw_client c = open();
  EXPECT_EQ(ask(c, "for i = 1, 4 do troupe.queue('q' .. i) end return troupe.queue('q5')"),
            "nil too many queues");
  EXPECT_EQ(ask(c, "return troupe.queue('q1') ~= nil, troupe.queue('q3')"),
            "true nil too many queues");
  EXPECT_EQ(ask(c,
                "local f = function() end troupe.subscribe('a', f) troupe.subscribe('b', f) "
                "return troupe.subscribe('c', f)"),
            "nil too many topics");
  const application other =
      make("other",
           "return {calls = {try = function() return troupe.queue('mine') ~= nil and "
           "troupe.subscribe('mine', print) ~= nil end}}");
  EXPECT_EQ(ask(c, "return troupe.ask('other', 'try')"), "true");
}

TEST_F(sharing, popping_from_an_empty_queue_returns_nil_or_waits) {
  start(raw);
  raw_client c = open();
  ask(c, "app.q = troupe.queue('jobs')");
  EXPECT_EQ(ask(c, "return app.q:try_pop()"), "nil empty");
  EXPECT_EQ(ask(c, "return app.q:pop(0)"), "nil timeout");
  EXPECT_EQ(ask(c, "return app.q:pop(0.001)"), "nil timeout");
  c.say("return 'got', app.q:pop(60)");
  EXPECT_EQ(ask(c, "return 'others are handled'"), "others are handled");
  c.say("app.q:push({n = 7}) return 'pushed'");
  std::vector<std::string> both{c.hear(), c.hear()};
  EXPECT_THAT(both, UnorderedElementsAre("pushed", "got {n=7}"));
  ask(c, "app.q:push('a') app.q:push(troupe.null)");
  EXPECT_EQ(ask(c, "return app.q:try_pop(), app.q:pop()"), "a null");
  EXPECT_EQ(figure("troupe_queue_waiting", "queue=jobs"), 0);
}

TEST_F(sharing, misuse_of_queues_is_an_error_that_names_the_problem) {
  start(raw);
  raw_client c = open();
  EXPECT_THAT(ask(c, "troupe.queue('')"), HasSubstr("a name of 1 to 256 bytes"));
  EXPECT_THAT(ask(c, "troupe.queue('q', {capacity = 0})"), HasSubstr("from 1 to 1000000"));
  EXPECT_THAT(ask(c, "troupe.queue('q', {capacity = 1.5})"), HasSubstr("a whole number"));
  EXPECT_THAT(ask(c, "troupe.queue('q', {size = 1})"),
              HasSubstr("unknown option 'size'; the options are 'capacity'"));
  EXPECT_THAT(ask(c, "troupe.queue('q'):push()"), HasSubstr("a value is required"));
  EXPECT_THAT(ask(c, "troupe.queue('q'):push(print)"), HasSubstr("cannot encode a function"));
  EXPECT_THAT(ask(c, "troupe.queue('q'):pop(-1)"), HasSubstr("seconds, from 0"));
  EXPECT_THAT(ask(c, "troupe.queue('q').push({}, 1)"), HasSubstr("troupe.queue expected"));
  EXPECT_EQ(ask(c, "return troupe.queue('q'):count()"), "0");
}

TEST_F(sharing, a_consumer_that_is_stopped_while_it_waits_loses_nothing) {
  start(raw);
  raw_client c = open();
  const std::string waits =
      "return {run = function() print('waits') print('got', troupe.queue('jobs'):pop()) end}";
  {
    auto first = make("first", waits);
    auto second = make("second", waits);
    log_.lines(2);
    ASSERT_TRUE(comes_true([&] { return figure("troupe_queue_waiting", "queue=jobs") == 2; }));
    first.stop(10s);
    second.stop(10s);
  }
  EXPECT_EQ(figure("troupe_queue_waiting", "queue=jobs"), 0);
  EXPECT_EQ(ask(c, "local q = troupe.queue('jobs') q:push(1) return q:count(), q:try_pop()"),
            "1 1");
}

TEST_F(sharing, an_instance_that_fails_while_it_waits_loses_nothing) {
  with_little_memory();
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  a.say("return troupe.queue('jobs'):pop()");
  ASSERT_TRUE(comes_true([&] { return figure("troupe_queue_waiting", "queue=jobs") == 1; }));
  fail_instance_of(a);
  EXPECT_EQ(figure("troupe_queue_waiting", "queue=jobs"), 0);
  EXPECT_EQ(ask(b, "local q = troupe.queue('jobs') q:push(1) return q:count(), q:pop()"), "1 1");
}

TEST_F(sharing, an_item_that_does_not_fit_into_memory_stays_in_its_queue) {
  with_little_memory();
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  EXPECT_EQ(ask(a, "return troupe.queue('jobs'):push(('x'):rep(300000))"), "true");
  b.say("app.kept = {} for i = 1, 1e6 do app.kept[i] = ('y'):rep(1000) end");
  ASSERT_TRUE(comes_true([&] { return application_->statistics().out_of_memory == 1; }));
  b.say("return #troupe.queue('jobs'):pop()");
  ASSERT_TRUE(comes_true([&] { return application_->statistics().out_of_memory == 2; }));
  EXPECT_EQ(ask(a, "return troupe.queue('jobs'):count(), #troupe.queue('jobs'):pop()"), "1 300000");
}

TEST_F(sharing, several_consumers_get_each_item_once) {
  options_.instances = 3;
  start(raw);
  const auto consumer =
      "return {run = function() local q, mine = troupe.queue('jobs', {capacity = 10}), {} "
      "while true do local n, why = q:pop(60) if not n then break end mine[#mine + 1] = n "
      "if n % 7 == 0 then troupe.sleep(0.001) end end "
      "print(table.concat(mine, ' ')) end}";
  application_options two;
  two.name = "consumers";
  two.instances = 3;
  folder_.write("consumers/main.lua", consumer);
  two.from = folder_.path() / "consumers";
  const application consumers(among_, two);
  std::vector<raw_client> producers;
  for (int i = 0; i < 3; ++i) producers.push_back(open());
  for (std::size_t i = 0; i < 3; ++i) {
    producers[i].say(
        "local q = troupe.queue('jobs') for i = " + std::to_string(i) +
        ", 299, 3 do while not q:push(i) do troupe.sleep(0.001) end end return 'done'");
  }
  for (raw_client& each : producers) EXPECT_EQ(each.hear(), "done");
  ask(producers[0], "troupe.queue('jobs'):close()");
  std::multiset<int> got, wanted;
  for (const std::string& line : log_.lines(3)) {
    std::istringstream numbers(line.substr(line.find(' ')));
    for (int n = 0; numbers >> n;) got.insert(n);
  }
  for (int i = 0; i < 300; ++i) wanted.insert(i);
  EXPECT_EQ(got, wanted);
}

// ── Store ─────────────────────────────────────────────────────────────────────────────────────

TEST_F(sharing, a_store_is_of_all_instances_and_of_one_application) {
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  const auto other = make("other", raw);
  EXPECT_EQ(ask(a, "return troupe.store.set('k', {1, 'x'}), troupe.shared_store.set('k', 'all')"),
            "true true");
  EXPECT_EQ(ask(b, "return (troupe.store.get('k')), (troupe.shared_store.get('k'))"),
            "{1=1 2=x} all");
  EXPECT_EQ(ask(a,
                "return (troupe.ask('other', 'run', \"return troupe.store.get('k'), "
                "(troupe.shared_store.get('k'))\"))"),
            "nil all");
  EXPECT_EQ(ask(b,
                "return troupe.store.delete('k'), troupe.store.delete('k'), "
                "troupe.store.get('k')"),
            "true false nil");
  EXPECT_EQ(figure("troupe_store_hits_total", "application=app"), 1);
  EXPECT_EQ(figure("troupe_store_misses_total", "application=app"), 1);
  EXPECT_EQ(figure("troupe_store_entries"), 1);
}

TEST_F(sharing, a_store_outlives_an_instance) {
  with_little_memory();
  start(raw);
  raw_client a = open();
  ask(a, "troupe.store.set('k', 1)");
  fail_instance_of(a);
  raw_client b = open();
  EXPECT_EQ(ask(b, "return (troupe.store.get('k'))"), "1");
}

TEST_F(sharing, every_store_function_works_as_documented) {
  start(raw);
  raw_client c = open();
  EXPECT_EQ(ask(c, "local s = troupe.store return s.add('a', 1), s.add('a', 2), (s.get('a'))"),
            "true false 1");
  EXPECT_EQ(ask(c,
                "local s = troupe.store local _, v = s.get('a') "
                "return s.compare_and_set('a', v, 5), s.compare_and_set('a', v, 6), "
                "s.compare_and_set('b', nil, 'new'), s.compare_and_set('b', 0, 'newer'), "
                "(s.get('a')), (s.get('b'))"),
            "true false true false 5 new");
  EXPECT_EQ(ask(c,
                "local s = troupe.store return s.increment('n'), s.increment('n', 4), "
                "s.increment('n', -10), (s.get('n'))"),
            "1 5 -5 -5");
  EXPECT_EQ(ask(c, "return troupe.store.increment('b')"), "nil the value is not an integer");
  EXPECT_EQ(ask(c, "troupe.store.set('n', math.maxinteger) return troupe.store.increment('n')"),
            "nil the sum does not fit into 64 bits");
  EXPECT_EQ(ask(c,
                "local s = troupe.store for i = 1, 5 do s.set('u:' .. i, i) end "
                "return table.concat(s.keys('u:', 2), ' '), table.concat(s.keys('u:', 9, 'u:3'), "
                "' '), #s.keys(), #s.keys('zz')"),
            "u:1 u:2 u:4 u:5 8 0");
  EXPECT_EQ(ask(c, "local n, bytes = troupe.store.count() return n, bytes > 8 * 128"), "8 true");
  EXPECT_EQ(ask(c,
                "return troupe.store.expire('a', 60), troupe.store.expire('a'), "
                "troupe.store.expire('none', 60)"),
            "true true false");
  EXPECT_EQ(ask(c,
                "troupe.store.set('null', troupe.null) return "
                "troupe.store.get('null') == troupe.null"),
            "true");
}

TEST_F(sharing, a_store_that_is_full_refuses_or_evicts) {
  options_.store.entries = 2;
  shared_limits evicts;
  evicts.store.entries = 2;
  evicts.store.on_full = on_full::evict;
  allow(evicts);
  start(raw);
  raw_client c = open();
  EXPECT_EQ(ask(c, "local s = troupe.store s.set('a', 1) s.set('b', 1) return s.set('c', 1)"),
            "nil full");
  EXPECT_EQ(ask(c, "local s = troupe.store return s.add('c', 1)"), "nil full");
  EXPECT_EQ(ask(c, "return troupe.store.increment('c')"), "nil full");
  EXPECT_EQ(ask(c,
                "local s = troupe.shared_store s.set('a', 1) s.set('b', 1) s.get('a') "
                "return s.set('c', 1), table.concat(s.keys(), ' ')"),
            "true a c");
  EXPECT_EQ(figure("troupe_store_refused_total", "application=app"), 3);
  EXPECT_EQ(figure("troupe_store_evicted_total"), 1);
}

TEST_F(sharing, misuse_of_a_store_is_an_error_that_names_the_problem) {
  start(raw);
  raw_client c = open();
  EXPECT_THAT(ask(c, "troupe.store.set('', 1)"), HasSubstr("a key of 1 to 256 bytes"));
  EXPECT_THAT(ask(c, "troupe.store.set('k')"), HasSubstr("a value is required"));
  EXPECT_THAT(ask(c, "troupe.store.set('k', {print})"), HasSubstr("cannot encode a function"));
  EXPECT_THAT(ask(c, "troupe.store.set('k', 1, {tll = 1})"),
              HasSubstr("unknown option 'tll'; the options are 'ttl'"));
  EXPECT_THAT(ask(c, "troupe.store.set('k', 1, {ttl = 0})"), HasSubstr("more than 0 seconds"));
  EXPECT_THAT(ask(c, "troupe.store.set('k', 1, 5)"), HasSubstr("table expected"));
  EXPECT_THAT(ask(c, "troupe.store.expire('k', -1)"), HasSubstr("seconds, from 0"));
  EXPECT_THAT(ask(c, "troupe.store.increment('k', 1.5)"), HasSubstr("no integer representation"));
  EXPECT_THAT(ask(c, "troupe.store.keys('', 0)"), HasSubstr("1 to 10000 keys"));
  EXPECT_THAT(ask(c, "troupe.store.compare_and_set('k', -1, 1)"), HasSubstr("a version"));
  EXPECT_EQ(ask(c, "return (troupe.store.get('k'))"), "nil");
}

// ── In a simulation ───────────────────────────────────────────────────────────────────────────

struct simulated {
  explicit simulated(const std::string& main) : sim(7) {
    folder.write("main.lua", main);
    options.name = "app";
    options.from = folder.path();
  }
  double figure(const std::string& name) const {
    for (const auto& family : among.figures()) {
      if (family.name == name) return family.figures.at(family.figures.size() - 1).value;
    }
    return -1;
  }

  sim::simulation sim;
  troupe::system system;
  temporary_folder folder;
  std::vector<std::string> lines;
  community among{system, [this](const log_line& line) { lines.emplace_back(line.text); }};
  application_options options;
};

TEST(sharing_in_a_simulation, stored_values_expire_and_are_freed_without_any_access) {
  simulated w(
      "return {run = function() local s = troupe.store "
      "s.set('short', 1, {ttl = 10}) s.set('long', 1, {ttl = 100}) s.set('ever', 1) "
      "s.increment('n', 1, {ttl = 10}) "
      "troupe.sleep(9.9) print(s.get('short') ~= nil, s.increment('n', 1, {ttl = 1000})) "
      "troupe.sleep(0.2) print(s.get('short') ~= nil, s.increment('n'), #s.keys()) end}");
  const application made(w.among, w.options);
  w.sim.advance(11s);
  EXPECT_THAT(w.lines, ElementsAre("true\t2", "false\t1\t3"));
  w.sim.advance(95s);
  EXPECT_EQ(w.figure("troupe_store_entries"), 2);
  EXPECT_EQ(w.figure("troupe_store_expired_total"), 3);
  EXPECT_EQ(w.sim.run_until_idle(), 0u);  // no timer is armed any more
}

TEST(sharing_in_a_simulation, a_consumer_waits_up_to_its_timeout) {
  simulated w(
      "return {run = function() local q = troupe.queue('jobs') local before = os.time() "
      "print(q:pop(30)) print(os.time() - before >= 30) "
      "troupe.after(5, function() q:push('late') end) print(q:pop(30)) "
      "troupe.after(30, function() print(q:count(), q:try_pop()) end) end}");
  const application made(w.among, w.options);
  w.sim.advance(100s);
  EXPECT_THAT(w.lines, ElementsAre("nil\ttimeout", "true", "late", "0\tnil\tempty"));
}

// ── Metrics ───────────────────────────────────────────────────────────────────────────────────

TEST_F(sharing, scripts_count_and_instances_count_together) {
  options_.instances = 2;
  start(raw);
  raw_client a = open();
  raw_client b = open();
  const std::string count =
      "local hits = troupe.metrics.counter('hits', 'Pages seen.') hits:add() "
      "return hits:add(2, {page = 'home', code = 200})";
  EXPECT_EQ(ask(a, count), "true");
  EXPECT_EQ(ask(b, count), "true");
  EXPECT_EQ(figure("troupe_app_hits_total", "application=app"), 2);
  EXPECT_EQ(figure("troupe_app_hits_total", "application=app,code=200,page=home"), 4);
  EXPECT_EQ(ask(a,
                "local g = troupe.metrics.gauge('depth') g:set(5) g:add(-1.5) g:add() "
                "return g:set(7, {n = 1})"),
            "true");
  EXPECT_EQ(figure("troupe_app_depth", "application=app"), 4.5);
  EXPECT_EQ(figure("troupe_app_depth", "application=app,n=1"), 7);
  EXPECT_EQ(ask(a,
                "local h = troupe.metrics.histogram('wait', 'Waited.', {buckets = {1, 2}}) "
                "h:observe(0.5) h:observe(3) return h:observe(1)"),
            "true");
  EXPECT_EQ(figure("troupe_app_wait_histogram", "application=app"), 4.5);
  EXPECT_EQ(figure("troupe_application_messages_total", "application=app,direction=in"), 4);
  EXPECT_EQ(figure("troupe_application_clients", "application=app"), 2);
}

TEST_F(sharing, metrics_are_so_many_and_no_more) {
  options_.limits.metrics = 3;
  start(raw);
  raw_client c = open();
  EXPECT_EQ(ask(c,
                "app.hits = troupe.metrics.counter('hits') "
                "return app.hits:add(1, {n = 1}), app.hits:add(1, {n = 2})"),
            "true true");
  EXPECT_EQ(ask(c, "return app.hits:add(1, {n = 3})"), "nil too many");
  EXPECT_THAT(ask(c, "troupe.metrics.gauge('other')"),
              HasSubstr("3 metrics exist already, which is limits.metrics"));
  EXPECT_EQ(figure("troupe_application_metrics_dropped_total", "application=app"), 2);
}

TEST_F(sharing, applications_use_one_name_of_a_metric_without_affecting_each_other) {
  start(raw);
  raw_client c = open();
  const auto other =
      make("other",
           "local n = troupe.metrics.gauge('n', 'Of other.') n:set(5, {k = 1}) "
           "local h = troupe.metrics.histogram('h', '', {buckets = {1}}) h:observe(3) "
           "return {calls = {}}");
  EXPECT_EQ(ask(c,
                "local n = troupe.metrics.counter('n', 'Of app.') n:add(2) "
                "local h = troupe.metrics.gauge('h') return h:set(7)"),
            "true");
  const auto third = make("third",
                          "local n = troupe.metrics.histogram('n', '', {buckets = {1, 2}}) "
                          "n:observe(1.5) local h = troupe.metrics.histogram('h') h:observe(9) "
                          "return {calls = {}}");
  EXPECT_EQ(figure("troupe_app_n", "application=other,k=1"), 5);
  EXPECT_EQ(figure("troupe_app_n_total", "application=app"), 2);
  EXPECT_EQ(figure("troupe_app_n_histogram", "application=third"), 1.5);
  EXPECT_EQ(figure("troupe_app_h_histogram", "application=other"), 3);
  EXPECT_EQ(figure("troupe_app_h_histogram", "application=third"), 9);
  EXPECT_EQ(figure("troupe_app_h", "application=app"), 7);
}

TEST_F(sharing, metrics_have_so_many_bytes_and_no_more) {
  options_.limits.metrics_bytes = 1'000;
  start(raw);
  raw_client c = open();
  EXPECT_EQ(ask(c,
                "app.hits = troupe.metrics.counter('hits') app.n = 0 "
                "while app.hits:add(1, {n = app.n}) do app.n = app.n + 1 end "
                "return app.n > 3, app.hits:add(1, {n = -1})"),
            "true nil too many");
  EXPECT_EQ(ask(c, "return app.hits:add(1, {n = 0})"), "true");
  EXPECT_THAT(ask(c,
                  "troupe.metrics.gauge('other', ('x'):rep(256)) "
                  "troupe.metrics.gauge('more', ('x'):rep(256))"),
              HasSubstr("limits.metrics_bytes"));
  EXPECT_LE(figure("troupe_application_metrics_bytes", "application=app"), 1'000);
}

TEST_F(sharing, misuse_of_metrics_is_an_error_that_names_the_problem) {
  start(raw);
  raw_client c = open();
  const auto with = [](const std::string& what) {
    return "local hits = troupe.metrics.counter('hits') " + what;
  };
  EXPECT_THAT(ask(c, "troupe.metrics.counter('Hits')"),
              HasSubstr("a name of at most 64 characters"));
  EXPECT_THAT(ask(c, "troupe.metrics.counter('hits_total')"), HasSubstr("must not end in _total"));
  EXPECT_THAT(ask(c, with("hits:add(-1)")), HasSubstr("a finite number, not negative"));
  EXPECT_THAT(ask(c, with("hits:add(0/0)")), HasSubstr("a finite number"));
  EXPECT_THAT(ask(c, with("hits:add(1, {le = 'x'})")), HasSubstr("label names"));
  EXPECT_THAT(ask(c, with("hits:add(1, {x = 1.5})")),
              HasSubstr("label values must be strings or integers"));
  EXPECT_THAT(ask(c, with("hits:add(1, {x = ('y'):rep(129)})")), HasSubstr("at most 128 bytes"));
  EXPECT_THAT(ask(c, with("local t = {} for i = 1, 9 do t['l' .. i] = 1 end hits:add(1, t)")),
              HasSubstr("at most 8 labels"));
  EXPECT_THAT(ask(c, with("troupe.metrics.gauge('hits')")),
              HasSubstr("'hits' is a counter already"));
  EXPECT_THAT(ask(c, with("hits.add(troupe.metrics.gauge('g'))")),
              HasSubstr("troupe.counter expected"));
  EXPECT_THAT(ask(c, "troupe.metrics.histogram('h', '', {buckets = {2, 1}})"),
              HasSubstr("in ascending order"));
  EXPECT_THAT(ask(c, "troupe.metrics.histogram('h', '', {buckets = {}})"),
              HasSubstr("1 to 32 buckets"));
  EXPECT_THAT(ask(c,
                  "troupe.metrics.histogram('h') "
                  "troupe.metrics.histogram('h', '', {buckets = {1}})"),
              HasSubstr("'h' is declared already with other buckets"));
  EXPECT_THAT(ask(c, "troupe.metrics.gauge('g', ('x'):rep(257))"), HasSubstr("at most 256 bytes"));
  EXPECT_THAT(ask(c, "troupe.metrics.gauge('g', 'a\\nb 1')"), HasSubstr("in one line"));
}

// ── All together ──────────────────────────────────────────────────────────────────────────────

// Scripts of four instances use all of it at the same time, while their clients come and go.
TEST_F(sharing, concurrent_scripts_lose_no_data_and_leave_none_behind) {
  options_.instances = 4;
  start(raw);
  raw_client first = open();
  ask(first,
      "app.joined, app.left = 0, 0 local hall = troupe.topic('hall') "
      "hall:on_join(function() app.joined = app.joined + 1 end) "
      "hall:on_leave(function() app.left = app.left + 1 end)");
  constexpr int rounds = 5;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int round = 0; round < rounds; ++round) {
        raw_client c = open();
        c.say(R"(
          local hall, q, hits = troupe.topic('hall'), troupe.queue('jobs'), troupe.metrics.counter('hits')
          local s = troupe.subscribe('news', function(v) troupe.store.increment('heard', v) end)
          hall:join(client) hall:track(client, {n = 1})
          for i = 1, 20 do
            hits:add(1, {n = i % 3})
            troupe.publish('news', 1)
            hall:send_binary('x')
            hall:track(client, {n = i})
            q:push(i)
            if q:pop(0.0005) then troupe.store.increment('popped') end
            troupe.shared_store.set('k' .. i % 5, i, {ttl = 0.001})
            troupe.shared_store.keys('k')
          end
          s:cancel()
          return 'done'
        )");
        while (c.hear() != "done") {
        }
        c.hang_up();
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(comes_true([&] { return application_->statistics().clients == 1; }));
  EXPECT_EQ(figure("troupe_presence"), 0);
  const std::string all = std::to_string(4 * rounds);
  EXPECT_TRUE(
      comes_true([&] { return ask(first, "return app.joined, app.left") == all + " " + all; }));
  EXPECT_EQ(ask(first,
                "return troupe.topic('hall'):count(), #troupe.topic('hall'):list(), "
                "troupe.publish('news', 1)"),
            "0 0 0");
  EXPECT_EQ(ask(first, "return (troupe.store.get('popped')) + troupe.queue('jobs'):count()"),
            std::to_string(4 * rounds * 20));
  EXPECT_EQ(application_->statistics().failures, 0U);
}

TEST_F(sharing, the_guide_names_every_function) {
  start(raw);
  raw_client c = open();
  std::istringstream names(
      ask(c,
          "local all = {} for name, what in pairs(troupe) do all[#all + 1] = 'troupe.' .. name "
          "for inner, f in pairs(type(what) == 'table' and what or {}) do "
          "if type(f) == 'function' then all[#all + 1] = '.' .. inner .. '(' end end end "
          "return table.concat(all, ' ')"));
  std::ifstream in(troupe::test::from_bin(TROUPE_LUA_PAGE));
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  int count = 0;
  for (std::string name; names >> name; ++count) {
    const std::string bare =
        name.starts_with("troupe.") ? name : name.substr(0, name.size() - 1);  // .info, .decode
    EXPECT_THAT(page, HasSubstr(bare));
  }
  EXPECT_GT(count, 30);
}

// ── Checking ──────────────────────────────────────────────────────────────────────────────────

TEST_F(sharing, a_check_touches_nothing_that_is_shared) {
  options_.from = folder_.path() / "app";
  folder_.write("app/main.lua",
                "troupe.store.set('k', 1, {ttl = 5}) troupe.queue('jobs'):push(1) "
                "troupe.subscribe('t', print) troupe.publish('t', 1) "
                "troupe.topic('hall'):on_join(print) troupe.metrics.counter('hits'):add() "
                "return {on_message = function() end}");
  EXPECT_EQ(application::check(options_), application_kind::raw);
  EXPECT_EQ(figure("troupe_store_entries", "application=app"), -1);
  EXPECT_EQ(figure("troupe_topics", "of=values"), 0);
  application_ = std::make_unique<application>(among_, options_);
  EXPECT_EQ(figure("troupe_store_entries", "application=app"), 1);
  EXPECT_EQ(figure("troupe_queue_items", "queue=jobs"), 1);
  EXPECT_EQ(figure("troupe_topics", "of=clients"), 1);
  EXPECT_EQ(figure("troupe_app_hits_total", "application=app"), 1);
}

}  // namespace
}  // namespace troupe::lua::test
