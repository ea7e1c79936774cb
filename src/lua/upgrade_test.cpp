// SPDX-License-Identifier: Apache-2.0

// An application whose scripts change while it runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "running_application.hpp"

namespace troupe::lua::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string old_one =
    "return {on_message = function(client, data) client:send('old ' .. data) end, "
    "on_save = function() return {count = 7} end}";

struct upgrading : running_application {
  std::string ask(raw_client& client, const std::string& what) {
    client.say(what);
    return client.hear();
  }
};

TEST_F(upgrading, the_new_version_takes_over_and_connections_stay_open) {
  start(old_one);
  raw_client client = open();
  EXPECT_EQ(ask(client, "1"), "old 1");
  EXPECT_EQ(upgrade("return {on_message = function(client, data) client:send('new ' .. data) end}"),
            "");
  EXPECT_EQ(ask(client, "2"), "new 2");
  EXPECT_EQ(application_->statistics().upgrades, 1U);
  EXPECT_EQ(application_->statistics().restarts, 0U);
  EXPECT_THAT(log_.lines(1), ElementsAre("info: version 2 runs"));
}

TEST_F(upgrading, saved_state_is_passed_to_the_new_version) {
  start(old_one);
  raw_client client = open();
  EXPECT_EQ(upgrade("local count return {on_upgrade = function(saved) count = saved.count end, "
                    "on_message = function(client, data) client:send(data .. count) end}"),
            "");
  EXPECT_EQ(ask(client, "it is "), "it is 7");
}

TEST_F(upgrading, client_data_and_rooms_are_preserved) {
  start(
      "return {on_open = function(client) client.data.name = 'ann' client.data.seen = {1, 2} "
      "troupe.room('all'):join(client) end, on_message = function() end}");
  raw_client client = open();
  raw_client other = open();
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().clients == 2; }));
  EXPECT_EQ(upgrade("return {on_message = function(client, data) "
                    "troupe.room('all'):send(client.data.name .. #client.data.seen .. data) end}"),
            "");
  client.say("!");
  EXPECT_EQ(client.hear(), "ann2!");
  EXPECT_EQ(other.hear(), "ann2!");
}

TEST_F(upgrading, data_that_is_not_plain_does_not_cross) {
  start(
      "return {on_open = function(client) client.data.f = print end, "
      "on_message = function(client, data) client:send('old') end}");
  raw_client client = open();
  EXPECT_EQ(ask(client, ""), "old");
  EXPECT_THAT(upgrade("return {on_message = function(client) client:send('new') end}"),
              HasSubstr("cannot encode a function at .clients[2].f"));
  EXPECT_EQ(ask(client, ""), "old");
}

TEST_F(upgrading, scripts_that_cannot_be_loaded_are_refused) {
  start(old_one);
  raw_client client = open();
  EXPECT_THAT(upgrade("return {on_message = "), HasSubstr("app/main.lua:1: unexpected symbol"));
  EXPECT_EQ(ask(client, "1"), "old 1");
  EXPECT_THAT(upgrade("error('no luck')"), HasSubstr("no luck"));
  EXPECT_EQ(ask(client, "2"), "old 2");
  EXPECT_THAT(upgrade("return {rpc = {}}"), HasSubstr("the kind of the application has changed"));
  EXPECT_EQ(ask(client, "3"), "old 3");
  EXPECT_EQ(application_->statistics().upgrades, 0U);
}

TEST_F(upgrading, a_version_that_fails_to_start_is_refused) {
  start(old_one);
  raw_client client = open();
  const std::string rest = ", on_message = function(client, data) client:send('new') end}";
  EXPECT_THAT(upgrade("return {on_start = function() error('no table') end" + rest),
              testing::AllOf(HasSubstr("on_start failed: "), HasSubstr("no table")));
  EXPECT_THAT(upgrade("return {self_test = function() assert(1 == 2, 'sums') end" + rest),
              testing::AllOf(HasSubstr("self_test failed: "), HasSubstr("sums")));
  EXPECT_EQ(upgrade("return {self_test = function() return false, 'not today' end" + rest),
            "self_test returned false: not today");
  EXPECT_EQ(upgrade("return {self_test = function() return false end" + rest),
            "self_test returned false");
  EXPECT_EQ(ask(client, "1"), "old 1");
  EXPECT_EQ(upgrade("return {self_test = function() troupe.sleep(0.01) return true end" + rest),
            "");
  EXPECT_EQ(ask(client, "2"), "new");
}

TEST_F(upgrading, a_version_that_starts_too_slowly_is_refused) {
  options_.limits.upgrade_timeout = 50ms;
  start(old_one);
  raw_client client = open();
  EXPECT_EQ(upgrade("return {on_start = function() troupe.sleep(100) end, "
                    "on_message = function(client, data) client:send('new') end}"),
            "on_start and self_test did not return within upgrade_timeout");
  EXPECT_EQ(ask(client, "1"), "old 1");
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().waiting == 0; }));
}

TEST_F(upgrading, a_failing_on_save_or_on_upgrade_keeps_the_old_version) {
  start(old_one);
  raw_client client = open();
  const std::string rest = ", on_message = function(client, data) client:send('new') end}";
  EXPECT_THAT(upgrade("return {on_upgrade = function(saved) saved.x.y = 1 end" + rest),
              HasSubstr("on_upgrade failed: app/main.lua:1: attempt to index a nil value"));
  EXPECT_THAT(upgrade("return {on_upgrade = function(saved) troupe.sleep(1) end" + rest),
              HasSubstr("cannot wait here"));
  EXPECT_EQ(ask(client, "1"), "old 1");
  EXPECT_EQ(upgrade("return {on_save = function() error('stuck') end" + rest), "");
  EXPECT_THAT(upgrade(old_one), testing::AllOf(HasSubstr("on_save failed: "), HasSubstr("stuck")));
  EXPECT_EQ(ask(client, "2"), "new");
}

TEST_F(upgrading, suspended_handlers_finish_in_their_old_version) {
  start(
      "local go return {on_message = function(client, data) if data == 'go' then go = true return "
      "end client:send('waits') repeat troupe.sleep(0.001) until go or troupe.room('r'):count() > "
      "0 "
      "client:send('old has waited') end}");
  raw_client client = open();
  EXPECT_EQ(ask(client, "wait"), "waits");
  EXPECT_EQ(upgrade("return {on_message = function(client, data) client:send('new') "
                    "if data == 'end' then troupe.room('r'):join(client) end end}"),
            "");
  EXPECT_EQ(ask(client, "1"), "new");
  EXPECT_EQ(application_->statistics().waiting, 1U);
  EXPECT_EQ(ask(client, "end"), "new");
  EXPECT_EQ(client.hear(), "old has waited");
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().waiting == 0; }));
}

TEST_F(upgrading, suspended_handlers_fail_after_upgrade_timeout) {
  options_.limits.upgrade_timeout = 1s;
  start(
      "return {on_message = function(client, data) local held <close> = setmetatable({}, {__close "
      "= function() print('let go') end}) client:send('waits') troupe.sleep(1000) end}");
  raw_client client = open();
  EXPECT_EQ(ask(client, "wait"), "waits");
  EXPECT_EQ(upgrade("return {on_message = function(client) client:send('new') end}"), "");
  EXPECT_THAT(log_.lines(2), testing::UnorderedElementsAre("info: version 2 runs", "info: let go"));
  EXPECT_EQ(ask(client, ""), "new");
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().waiting == 0; }));
}

TEST_F(upgrading, only_some_versions_may_wait_at_a_time) {
  const std::string waits =
      "return {on_message = function(client) client:send('waits') troupe.sleep(1000) end}";
  start(waits);
  raw_client client = open();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ask(client, ""), "waits");
    EXPECT_EQ(upgrade(waits), "");
  }
  EXPECT_EQ(ask(client, ""), "waits");
  EXPECT_THAT(upgrade(waits), HasSubstr("handlers of 4 earlier versions are still waiting"));
}

TEST_F(upgrading, a_run_gives_way) {
  start(
      "return {run = function() local held <close> = setmetatable({}, {__close = function() "
      "print('old has ended') end}) print('old runs') while true do troupe.sleep(0.001) end end}");
  log_.lines(1);
  EXPECT_EQ(upgrade("return {on_start = function() troupe.sleep(0.01) print('new starts') end, "
                    "run = function() print('new runs') end}"),
            "");
  EXPECT_THAT(log_.lines(5), testing::UnorderedElementsAre("info: old runs", "info: new starts",
                                                           "info: old has ended", "info: new runs",
                                                           "info: version 2 runs"));
}

TEST_F(upgrading, old_timers_stop_and_new_timers_wait_for_the_end_of_on_start) {
  start(
      "return {on_start = function() troupe.every(0.002, function() troupe.room('old') end) end, "
      "on_message = function() end}");
  EXPECT_EQ(upgrade("return {on_start = function() troupe.after(0.001, function() print('rings') "
                    "end) troupe.sleep(0.05) print('started') end, on_message = function() end}"),
            "");
  EXPECT_THAT(log_.lines(3), testing::UnorderedElementsAre("info: started", "info: rings",
                                                           "info: version 2 runs"));
  EXPECT_EQ(log_.lines(1).at(0), "info: started");
}

TEST_F(upgrading, an_upgrade_covers_all_instances_or_names_those_that_run_it) {
  options_.instances = 3;
  options_.key = "query:k";
  start("return {on_message = function(client) client:send('old') end}");
  EXPECT_EQ(upgrade("return {on_message = function(client) client:send('v2') end}"), "");
  for (const std::string key : {"a", "b", "c", "d", "e"}) {
    raw_client client = open("/app?k=" + key);
    EXPECT_EQ(ask(client, ""), "v2");
  }
  // A version that cannot be started in one of the instances.
  EXPECT_EQ(upgrade("return {self_test = function() return troupe.instance ~= 2, 'not two' end, "
                    "on_message = function(client) client:send('v3') end}"),
            "self_test returned false: not two");
  for (const std::string key : {"a", "b", "c", "d", "e"}) {
    raw_client client = open("/app?k=" + key);
    EXPECT_EQ(ask(client, ""), "v2");
  }
  // A version that fails in one instance when another has already taken it over.
  EXPECT_THAT(
      upgrade("return {on_upgrade = function() assert(troupe.instance == 1, 'only one') "
              "end, on_message = function(client) client:send('v4') end}"),
      testing::AllOf(
          HasSubstr("only one"),
          HasSubstr("; instances 1 to 1 run the new version, the others still run the old one")));
  EXPECT_EQ(application_->statistics().upgrades, 4U);
}

TEST_F(upgrading, a_restarted_instance_uses_the_files_of_its_version) {
  options_.limits.memory_bytes = 1024 * 1024;
  options_.limits.memory_warning_bytes = 512 * 1024;
  const std::string hog =
      " return {on_message = function(client, data) if data == 'hog' then local all = keep or {} "
      "keep = all while true do all[#all + 1] = ('x'):rep(1000) .. #all end end "
      "client:send(name) end}";
  files_["lib.lua"] = "return 'first'";
  start("local name = require('lib')" + hog);
  files_["lib.lua"] = "return 'second'";
  EXPECT_EQ(upgrade("local name = require('lib')" + hog), "");
  folder_.write("app/lib.lua", "return 'third'");
  folder_.write("app/main.lua", "is not even Lua");
  raw_client client = open();
  for (int i = 0; i < 20 && application_->statistics().restarts == 0; ++i) {
    client.say("hog");
    http::test::comes_true([&, failures = static_cast<std::uint64_t>(i)] {
      return application_->statistics().failures > failures ||
             application_->statistics().restarts > 0;
    });
  }
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().restarts == 1; }));
  raw_client again = open();
  EXPECT_EQ(ask(again, ""), "second");
}

TEST_F(upgrading, configuration_and_limits_change_with_it) {
  options_.config = R"({"greeting": "hello"})";
  start(
      "return {on_message = function(client, data) local n = 0 "
      "if data == 'work' then while n < 1e9 do n = n + 1 end end "
      "client:send(troupe.config.greeting) end}");
  raw_client client = open();
  EXPECT_EQ(ask(client, ""), "hello");
  limits allowed;
  allowed.run_timeout = 20ms;
  EXPECT_EQ(application_->upgrade(allowed, R"({"greeting": "hi"})"), "");
  EXPECT_EQ(ask(client, ""), "hi");
  client.say("work");
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().out_of_time == 1; }));
  allowed.run_timeout = 0ms;
  EXPECT_EQ(application_->upgrade(allowed, "{}"),
            "application 'app': run_timeout in ms is 0; the minimum is 1");
  EXPECT_THAT(application_->upgrade(limits{}, "{"),
              HasSubstr("the configuration is not valid JSON"));
  EXPECT_EQ(ask(client, ""), "hi");
}

TEST_F(upgrading, is_outdated_when_a_file_that_was_looked_for_has_changed) {
  files_["lib.lua"] = "return 1";
  start("local _ = require('lib'), pcall(require, 'more') return {on_message = function() end}");
  EXPECT_FALSE(application_->is_outdated());
  folder_.write("app/unread.lua", "return 0");
  EXPECT_FALSE(application_->is_outdated());
  folder_.write("app/lib.lua", "return 12");
  EXPECT_TRUE(application_->is_outdated());
  EXPECT_EQ(application_->upgrade(), "");
  EXPECT_FALSE(application_->is_outdated());
  folder_.write("app/more.lua", "return 0");
  EXPECT_TRUE(application_->is_outdated());
  folder_.write("app/more.lua", "not Lua");
  EXPECT_EQ(application_->upgrade(), "");  // a pcall surrounds it
  EXPECT_FALSE(application_->is_outdated());
  // A refused version is not tried again until something changes.
  folder_.write("app/lib.lua", "return");
  folder_.write("app/main.lua", "error('no')");
  EXPECT_NE(application_->upgrade(), "");
  EXPECT_FALSE(application_->is_outdated());
}

TEST_F(upgrading, clients_are_found_by_their_ids) {
  start(
      "return {on_message = function() end, on_save = function() return troupe.clients()[1].id "
      "end}");
  raw_client first = open();
  raw_client second = open();
  EXPECT_TRUE(http::test::comes_true([&] { return application_->statistics().clients == 2; }));
  EXPECT_EQ(upgrade("local first return {on_upgrade = function(id) first = troupe.client(id) end, "
                    "on_message = function(client, data) first:send('from ' .. #troupe.clients()) "
                    "client:send(tostring(troupe.client(77))) end}"),
            "");
  second.say("");
  EXPECT_EQ(first.hear(), "from 2");
  EXPECT_EQ(second.hear(), "nil");
}

TEST_F(upgrading, on_start_that_fails_after_it_has_waited_fails_alone) {
  start(
      "return {on_start = function() troupe.sleep(0.001) error(('x'):rep(5000)) end, "
      "on_message = function(client) client:send('here') end}");
  EXPECT_THAT(log_.lines(1).at(0), HasSubstr("xxxx"));
  raw_client client = open();
  EXPECT_EQ(ask(client, ""), "here");
}

TEST_F(upgrading, an_error_without_a_text_is_a_failure) {
  start(old_one);
  raw_client client = open();
  EXPECT_EQ(
      upgrade("return {on_upgrade = function() error('', 0) end, on_message = function() end}"),
      "on_upgrade failed: an error without a message");
  EXPECT_EQ(ask(client, "1"), "old 1");
}

TEST_F(upgrading, a_main_lua_that_is_a_folder_is_refused) {
  start(old_one);
  raw_client client = open();
  std::filesystem::remove(folder_.path() / "app/main.lua");
  std::filesystem::create_directory(folder_.path() / "app/main.lua");
  EXPECT_THAT(application_->upgrade(), HasSubstr("is not a readable file"));
  EXPECT_FALSE(application_->is_outdated());
  EXPECT_TRUE(application_->is_behind());
  EXPECT_EQ(ask(client, "1"), "old 1");
}

TEST_F(upgrading, a_refused_upgrade_keeps_the_current_configuration) {
  options_.config = R"({"is": "a"})";
  start("return {on_message = function(client) client:send(troupe.config.is) end}");
  raw_client client = open();
  const std::string picky =
      "assert(troupe.config.is == 'a', 'not b') return {on_message = function(client) "
      "client:send('new ' .. troupe.config.is) end}";
  folder_.write("app/main.lua", picky);
  EXPECT_THAT(application_->upgrade(limits{}, R"({"is": "b"})"), HasSubstr("not b"));
  EXPECT_TRUE(application_->is_behind());
  EXPECT_EQ(application_->upgrade(), "");
  EXPECT_FALSE(application_->is_behind());
  EXPECT_EQ(ask(client, ""), "new a");
}

TEST_F(upgrading, an_on_save_that_began_before_the_timeout_may_finish) {
  options_.limits.upgrade_timeout = 100ms;
  options_.limits.run_timeout = 1min;  // 0.4 s of processor time can be much more of real time
  start(
      "return {on_save = function() local till = os.clock() + 0.4 while os.clock() < till do end "
      "end, on_message = function(client) client:send('old') end}");
  raw_client client = open();
  EXPECT_EQ(upgrade("return {on_message = function(client) client:send('new') end}"), "");
  EXPECT_EQ(ask(client, ""), "new");
}

TEST_F(upgrading, records_of_missing_modules_are_bounded) {
  start(
      "return {on_message = function(client, data) local last for i = 1, 2000 do "
      "local ok, why = pcall(require, 'm' .. i) last = why end client:send(last) end}");
  raw_client client = open();
  EXPECT_THAT(ask(client, ""), HasSubstr("1000 missing modules were required already"));
  EXPECT_THAT(upgrade("return {on_message = function(client) local _, why = pcall(require, "
                      "('m'):rep(257)) client:send(why) end}"),
              "");
  EXPECT_THAT(ask(client, ""), HasSubstr("is not a valid module name; allowed are at most 256"));
}

// No message is lost, duplicated or reordered.
TEST_F(upgrading, upgrades_under_load_neither_lose_nor_reorder_messages) {
  options_.instances = 2;
  const std::string counts =
      "local sum = 0 return {on_save = function() return sum end, "
      "on_upgrade = function(saved) sum = saved end, "
      "on_message = function(client, data) client.data.n = (client.data.n or 0) + 1 "
      "client:send(data .. ' ' .. math.floor(client.data.n)) end}";
  start(counts);
  atomic<bool> done{false};
  int upgrades = 0;
  std::thread other([&] {
    // [done] relaxed: it does not matter when it is seen
    while (!done.load(relaxed)) {
      const std::string why_not = application_->upgrade();
      // The handlers of messages never wait, so no earlier version is left.
      ASSERT_EQ(why_not, "");
      ++upgrades;
    }
  });
  std::vector<raw_client> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(open());
  for (int n = 1; n <= 500; ++n) {
    for (raw_client& each : clients) each.say("m");
    for (raw_client& each : clients) ASSERT_EQ(each.hear(), "m " + std::to_string(n));
  }
  done.store(true, relaxed);  // [done]
  other.join();
  EXPECT_GT(upgrades, 0);
  EXPECT_EQ(application_->statistics().failures, 0U);
}

}  // namespace
}  // namespace troupe::lua::test
