// SPDX-License-Identifier: Apache-2.0
#include <troupe/server/configuration.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "lua/temporary_folder.hpp"

namespace troupe::server {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// A folder with the applications one, two and three, which no test starts.
class configuration_file : public testing::Test {
 protected:
  configuration_file() {
    for (const char* name : {"one", "two", "three"}) {
      folder_.write(std::string("apps/") + name + "/main.lua", "return {}\n");
    }
    folder_.write("apps/single.lua", "return {}\n");
    folder_.write("page/index.html", "<p>");
    folder_.write("key.pem", "");
    folder_.write("certificate.pem", "");
  }

  configuration read(const std::string& text) const {
    return parse_configuration(text, folder_.path() / "t.toml");
  }

  // The error message, with the file's name but without its folder.
  std::string refused(const std::string& text) const {
    try {
      (void)read(text);
    } catch (const configuration_error& why) {
      return without_folder(why.what());
    }
    return "nothing";
  }

  std::string without_folder(std::string text) const {
    const std::string prefix = folder_.path().string() + "/";
    for (std::size_t at; (at = text.find(prefix)) != std::string::npos;) {
      text.erase(at, prefix.size());
    }
    return text;
  }

  temporary_folder folder_;
};

TEST_F(configuration_file, an_empty_file_yields_the_default_configuration) {
  const configuration all = read("# nothing\n");
  const configuration by_default;
  EXPECT_EQ(all.file, folder_.path() / "t.toml");
  EXPECT_THAT(differences(by_default, all), IsEmpty());
  EXPECT_THAT(all.applications, IsEmpty());
  EXPECT_EQ(all.http.port, 8080);
}

TEST_F(configuration_file, every_key_is_read) {
  const configuration all = read(R"(
[listen]
address = "::"
port = 0
loops = 2
check_origin = false
allowed_origins = ["https://example.org", "http://localhost:3000"]
trusted_proxies = ["10.0.0.0/8", "::1"]
proxy_header = "forwarded"
[tls]
certificate = "certificate.pem"
key = "key.pem"
min_version = "1.3"
[limits]
header_bytes = "32 KiB"
body_bytes = 1
request_bodies_bytes = "32 MiB"
message_bytes = "1 GiB"
connections_max = 1_000
connections_per_address_max = 10
handshake_timeout = "1s"
request_timeout = "2s"
idle_timeout = "3s"
read_bytes_per_second = "5 KiB"
close_timeout = "4s"
send_queue_bytes = "2 MiB"
send_queues_bytes = "20 MiB"
partial_messages_bytes = "30 MiB"
upgrade_requests_bytes = "40 MiB"
receive_window = 3
connections_per_second = 21
connections_burst = 22
tls_handshakes_per_second = 23
tls_handshakes_burst = 24
requests_per_second = 25
requests_burst = 26
messages_per_second = 27
messages_burst = 28
throttled_messages_max = 29
received_bytes_per_second = "30 KiB"
received_bytes_burst = "31 KiB"
rate_addresses_max = 32
rate_addresses_bytes = "64 KiB"
[shutdown]
unready_delay = "15s"
drain_timeout = "1m"
stop_timeout = "250ms"
[system]
workers = 3
max_threads = 7
turn_messages = 256
spin_rounds = 9
max_messages = 1_024
max_bytes = 1000000
[log]
level = "debug"
to = "server.log"
format = "json"
access = false
access_per_second = 12
[admin]
listen = "unix:metrics"
host_names = ["admin.internal"]
public_health = true
metrics_bytes = "18 MiB"
health = ""
ready = "/ready"
metrics = "/figures"
control = "commands"
watch = true
[shared]
topics = 11
presence = 12
presence_bytes = "13 KiB"
queues = 14
queue_bytes = "15 KiB"
application_percent = 16
[shared.store]
bytes = "1 MiB"
entries = 17
on_full = "evict"
[applications.one]
from = "apps/one"
route = "/first"
instances = 4
key = "query:room"
files = "page"
files_route = "/"
outgoing = ["example.org:443", "*.example.org"]
outgoing_trusted = "certificate.pem"
outgoing_bytes = "3 MiB"
config = { greeting = "hello", list = [1, 2.5, true], deep = { none = {} } }
[applications.one.limits]
memory_bytes = "32 MiB"
memory_warning_bytes = "16 MiB"
run_timeout = "50ms"
mailbox_messages = 5
mailbox_bytes = "6 MiB"
waiting = 7
timers = 8
connections = 9
subscriptions = 9
metrics = 10
metrics_bytes = "20 KiB"
[applications.one.store]
bytes = "2 MiB"
entries = 18
on_full = "evict"
)");
  EXPECT_EQ(all.http.address, "::");
  EXPECT_EQ(all.http.port, 0);
  EXPECT_EQ(all.http.loops, 2u);
  EXPECT_FALSE(all.http.check_origin);
  EXPECT_THAT(all.http.allowed_origins,
              ElementsAre("https://example.org", "http://localhost:3000"));
  EXPECT_THAT(all.http.trusted_proxies, ElementsAre("10.0.0.0/8", "::1"));
  EXPECT_EQ(all.http.proxy_header, http::proxy_header::forwarded);
  EXPECT_EQ(all.http.tls.certificate, folder_.path() / "certificate.pem");
  EXPECT_EQ(all.http.tls.key, folder_.path() / "key.pem");
  EXPECT_EQ(all.http.tls.min_version, http::tls_version::v1_3);
  EXPECT_EQ(all.http.limits.header_bytes, 32'768u);
  EXPECT_EQ(all.http.limits.body_bytes, 1u);
  EXPECT_EQ(all.http.limits.request_bodies_bytes, 32u * 1024 * 1024);
  EXPECT_EQ(all.http.limits.message_bytes, 1'073'741'824u);
  EXPECT_EQ(all.http.limits.connections_max, 1'000u);
  EXPECT_EQ(all.http.limits.connections_per_address_max, 10u);
  EXPECT_EQ(all.http.limits.handshake_timeout, 1s);
  EXPECT_EQ(all.http.limits.request_timeout, 2s);
  EXPECT_EQ(all.http.limits.idle_timeout, 3s);
  EXPECT_EQ(all.http.limits.read_bytes_per_second, 5'120u);
  EXPECT_EQ(all.http.limits.close_timeout, 4s);
  EXPECT_EQ(all.http.limits.send_queue_bytes, 2'097'152u);
  EXPECT_EQ(all.http.limits.send_queues_bytes, 20'971'520u);
  EXPECT_EQ(all.http.limits.partial_messages_bytes, 31'457'280u);
  EXPECT_EQ(all.http.limits.upgrade_requests_bytes, 41'943'040u);
  EXPECT_EQ(all.http.limits.receive_window, 3u);
  EXPECT_EQ(all.http.limits.connections_per_second, 21u);
  EXPECT_EQ(all.http.limits.connections_burst, 22u);
  EXPECT_EQ(all.http.limits.tls_handshakes_per_second, 23u);
  EXPECT_EQ(all.http.limits.tls_handshakes_burst, 24u);
  EXPECT_EQ(all.http.limits.requests_per_second, 25u);
  EXPECT_EQ(all.http.limits.requests_burst, 26u);
  EXPECT_EQ(all.http.limits.messages_per_second, 27u);
  EXPECT_EQ(all.http.limits.messages_burst, 28u);
  EXPECT_EQ(all.http.limits.throttled_messages_max, 29u);
  EXPECT_EQ(all.http.limits.received_bytes_per_second, 30u * 1024);
  EXPECT_EQ(all.http.limits.received_bytes_burst, 31u * 1024);
  EXPECT_EQ(all.http.limits.rate_addresses_max, 32u);
  EXPECT_EQ(all.http.limits.rate_addresses_bytes, 65'536u);
  EXPECT_EQ(all.http.limits.drain_timeout, 1min);
  EXPECT_EQ(all.unready_delay, 15s);
  EXPECT_EQ(all.stop_timeout, 250ms);
  EXPECT_EQ(all.system.workers, 3u);
  EXPECT_EQ(all.system.max_threads, 7u);
  EXPECT_EQ(all.system.turn_messages, 256u);
  EXPECT_EQ(all.system.spin_rounds, 9u);
  EXPECT_EQ(all.system.max_messages, 1'024u);
  EXPECT_EQ(all.system.max_bytes, 1'000'000u);
  EXPECT_EQ(all.log.level, lua::severity::debug);
  EXPECT_EQ(all.log.to, (folder_.path() / "server.log").string());
  EXPECT_EQ(all.log.format, log_format::json);
  EXPECT_FALSE(all.log.access);
  EXPECT_EQ(all.log.access_per_second, 12u);
  EXPECT_EQ(all.admin.listen, "unix:" + (folder_.path() / "metrics").string());
  EXPECT_THAT(all.admin.host_names, ElementsAre("admin.internal"));
  EXPECT_TRUE(all.admin.public_health);
  EXPECT_EQ(all.admin.metrics_bytes, 18u * 1024 * 1024);
  EXPECT_EQ(all.admin.health, "");
  EXPECT_EQ(all.admin.ready, "/ready");
  EXPECT_EQ(all.admin.metrics, "/figures");
  EXPECT_EQ(all.admin.control, folder_.path() / "commands");
  EXPECT_TRUE(all.admin.watch);
  EXPECT_EQ(all.shared.topics, 11u);
  EXPECT_EQ(all.shared.presence, 12u);
  EXPECT_EQ(all.shared.presence_bytes, 13u * 1024);
  EXPECT_EQ(all.shared.queues, 14u);
  EXPECT_EQ(all.shared.queue_bytes, 15u * 1024);
  EXPECT_EQ(all.shared.application_percent, 16u);
  EXPECT_EQ(all.shared.store.bytes, 1024u * 1024);
  EXPECT_EQ(all.shared.store.entries, 17u);
  EXPECT_EQ(all.shared.store.on_full, lua::on_full::evict);
  ASSERT_EQ(all.applications.size(), 1u);
  const served_application& one = all.applications.front();
  EXPECT_EQ(one.options.name, "one");
  EXPECT_EQ(one.options.from, folder_.path() / "apps/one");
  EXPECT_EQ(one.route, "/first");
  EXPECT_EQ(one.options.instances, 4u);
  EXPECT_EQ(one.options.key, "query:room");
  EXPECT_EQ(one.files, folder_.path() / "page");
  EXPECT_EQ(one.files_route, "/");
  EXPECT_EQ(one.options.config, R"({"deep":{"none":{}},"greeting":"hello","list":[1,2.5,true]})");
  EXPECT_EQ(one.options.limits.memory_bytes, 33'554'432u);
  EXPECT_EQ(one.options.limits.memory_warning_bytes, 16'777'216u);
  EXPECT_EQ(one.options.limits.run_timeout, 50ms);
  EXPECT_EQ(one.options.limits.mailbox_messages, 5u);
  EXPECT_EQ(one.options.limits.mailbox_bytes, 6'291'456u);
  EXPECT_EQ(one.options.limits.waiting, 7u);
  EXPECT_EQ(one.options.limits.timers, 8u);
  EXPECT_EQ(one.options.limits.connections, 9u);
  EXPECT_THAT(one.options.outgoing.list(), ElementsAre("example.org:443", "*.example.org"));
  EXPECT_FALSE(one.options.outgoing.are_all());
  EXPECT_EQ(one.options.outgoing_trusted, folder_.path() / "certificate.pem");
  EXPECT_EQ(one.options.outgoing_bytes, 3u * 1024 * 1024);
  EXPECT_EQ(one.options.limits.subscriptions, 9u);
  EXPECT_EQ(one.options.limits.metrics, 10u);
  EXPECT_EQ(one.options.limits.metrics_bytes, 20u * 1024);
  EXPECT_EQ(one.options.store.bytes, 2'097'152u);
  EXPECT_EQ(one.options.store.entries, 18u);
  EXPECT_EQ(one.options.store.on_full, lua::on_full::evict);

  // Every key of the list occurs above, with a value other than its default.
  std::vector<std::string> unchanged;
  const configuration by_default;
  const auto changed = differences(by_default, all);
  for (const documented_key& each : all_keys()) {
    if (each.name.starts_with("applications.")) continue;
    bool found = false;
    for (const difference& one_of : changed) found = found || one_of.name == each.name;
    if (!found) unchanged.push_back(each.name);
  }
  EXPECT_THAT(unchanged, IsEmpty());
}

TEST_F(configuration_file, an_application_requires_only_its_path) {
  const configuration all = read(
      "[applications.two]\nfrom = 'apps/../apps/two'\nfiles = \"page\"\n"
      "[applications.a-1_B]\nfrom = 'apps/single.lua'\n");
  ASSERT_EQ(all.applications.size(), 2u);
  const served_application& single = all.applications[0];
  EXPECT_EQ(single.options.name, "a-1_B");
  EXPECT_EQ(single.options.from, folder_.path() / "apps/single.lua");
  EXPECT_EQ(single.route, "/a-1_B");
  EXPECT_TRUE(single.files.empty());
  const served_application& two = all.applications[1];
  EXPECT_EQ(two.options.from, folder_.path() / "apps/two");
  EXPECT_EQ(two.route, "/two");
  EXPECT_EQ(two.files_route, "/two/");
  EXPECT_EQ(two.options.config, "{}");
  EXPECT_EQ(two.options.instances, 1u);
  EXPECT_TRUE(two.options.outgoing.are_all());
}

TEST_F(configuration_file, less_memory_is_warned_of_earlier) {
  const configuration all =
      read("[applications.one]\nfrom = 'apps/one'\nlimits.memory_bytes = '8 MiB'\n");
  EXPECT_EQ(all.applications.at(0).options.limits.memory_warning_bytes, 6u * 1024 * 1024);
}

TEST_F(configuration_file, errors_are_one_line_and_name_the_position_key_and_value) {
  const std::string one = "[applications.one]\nfrom = \"apps/one\"\n";
  const struct {
    std::string text;
    std::string line;
  } cases[] = {
      // values
      {"[listen]\nport = 70000", "t.toml:2:8: listen.port is 70000; allowed are 0 to 65535"},
      {"listen = { port = -1 }", "t.toml:1:19: listen.port is -1; allowed are 0 to 65535"},
      {"\n  listen.port = 80.5",
       "t.toml:2:17: listen.port is 80.5; allowed are whole numbers, 0 to 65535"},
      {"listen.port = '80'",
       "t.toml:1:15: listen.port is \"80\"; allowed are whole numbers, 0 to 65535"},
      {"listen.loops = 0", "t.toml:1:16: listen.loops is 0; allowed are 1 to 256"},
      {"listen.address = ''", "t.toml:1:18: listen.address is \"\"; allowed are addresses, names"},
      {"listen.check_origin = 1",
       "t.toml:1:23: listen.check_origin is 1; allowed are true and false"},
      {"listen.allowed_origins = ['https://a', 7]",
       "t.toml:1:26: listen.allowed_origins is an array; allowed are arrays of texts as "
       "\"https://example.org\""},
      {"listen.allowed_origins = ['example.org']",
       "t.toml:1:26: listen.allowed_origins is wrong: allowed origin \"example.org\": write "
       "scheme://host[:port]"},
      {"listen.trusted_proxies = '10.0.0.1'",
       "t.toml:1:26: listen.trusted_proxies is \"10.0.0.1\"; allowed are arrays of texts as "
       "\"10.0.0.0/8\""},
      {"listen.trusted_proxies = ['::1', '10.0.0.1/8']",
       "t.toml:1:26: listen.trusted_proxies is wrong: \"10.0.0.1/8\" has bits after its prefix; "
       "the "
       "network is 10.0.0.0/8"},
      {"listen.trusted_proxies = ['unix:/run/proxy']",
       "t.toml:1:26: listen.trusted_proxies is wrong: \"unix:/run/proxy\" is a Unix domain socket, "
       "but the server accepts TCP connections only; list the addresses of the proxies"},
      {"listen.proxy_header = 'via'",
       "t.toml:1:23: listen.proxy_header is \"via\"; allowed are \"any\", \"forwarded\", "
       "\"x-forwarded-for\""},
      {"limits.requests_per_second = -1",
       "t.toml:1:30: limits.requests_per_second is -1; allowed are 0 to 1000000"},
      {"limits.requests_burst = 5",
       "t.toml:1:25: limits.requests_burst is given, but limits.requests_per_second is 0: without "
       "a rate there is no limit"},
      {"listen = 8080", "t.toml:1:10: listen is 8080; allowed are tables"},
      {"limits.header_bytes = '8 kB'",
       "t.toml:1:23: limits.header_bytes is \"8 kB\"; allowed are bytes, or texts as \"64 KiB\", "
       "from 256 B to 1 MiB"},
      {"limits.header_bytes = '2 MiB'",
       "t.toml:1:23: limits.header_bytes is \"2 MiB\"; allowed are 256 B to 1 MiB"},
      {"limits.header_bytes = -5",
       "t.toml:1:23: limits.header_bytes is -5; allowed are bytes, or texts as \"64 KiB\", from "
       "256 B to 1 MiB"},
      {"limits.idle_timeout = 10",
       "t.toml:1:23: limits.idle_timeout is 10; allowed are texts as \"10s\" or \"500ms\", from "
       "10ms "
       "to 24h"},
      {"limits.idle_timeout = '1ms'",
       "t.toml:1:23: limits.idle_timeout is \"1ms\"; allowed are 10ms to 24h"},
      {"log.level = 'loud'",
       "t.toml:1:13: log.level is \"loud\"; allowed are \"debug\", \"info\", \"warning\", "
       "\"error\""},
      {"log.format = true", "t.toml:1:14: log.format is true; allowed are \"text\", \"json\""},
      {"log.to = 'page'", "t.toml:1:10: log.to is \"page\", a folder"},
      {"log.to = 'nowhere/a.log'",
       "t.toml:1:10: log.to is \"nowhere/a.log\", but \"nowhere\" is not a folder"},
      {"listen.address = 'unix:a'",
       "t.toml:1:18: listen.address is \"unix:a\"; allowed are addresses, names"},
      {"admin.listen = 9180",
       "t.toml:1:16: admin.listen is 9180; allowed are \"ADDRESS:PORT\", \"unix:PATH\", "
       "\"off\""},
      {"admin.listen = '127.0.0.1'",
       "t.toml:1:16: admin.listen is \"127.0.0.1\"; allowed are \"ADDRESS:PORT\", "
       "\"unix:PATH\", \"off\""},
      {"admin.host_names = ['http://a']",
       "t.toml:1:20: admin.host_names is wrong: host name \"http://a\": write a name without "
       "scheme and port, as \"admin.internal\""},
      {"admin.listen = 'unix:no/socket'",
       "t.toml:1:16: admin.listen is \"unix:no/socket\", but \"no/socket\" is not a path of a "
       "socket, in an existing folder"},
      {"admin.ready = 'ready'",
       "t.toml:1:15: admin.ready is \"ready\"; allowed are paths as \"/metrics\"; \"\" for none"},
      {"admin.ready = '/a?b'",
       "t.toml:1:15: admin.ready is \"/a?b\"; allowed are paths as \"/metrics\"; \"\" for none"},
      {"system.workers = 1025", "t.toml:1:18: system.workers is 1025; allowed are 0 to 1024"},
      {"tls.min_version = 1.2",
       "t.toml:1:19: tls.min_version is 1.2; allowed are \"1.2\", \"1.3\""},
      {"tls.key = 'no.pem'", "t.toml:1:11: tls.key is \"no.pem\", but \"no.pem\" is not a file"},
      {"[tls]\nkey = 'key.pem'",
       "t.toml:1:1: tls.certificate is missing, with tls.key given: TLS needs both"},
      {"[tls]\ncertificate = 'certificate.pem'",
       "t.toml:1:1: tls.key is missing, with tls.certificate given: TLS needs both"},

      // keys
      {"[listen]\nprot = 1", "t.toml:2:1: unknown key \"listen.prot\"; did you mean listen.port?"},
      {"[listen]\nhost = 1",
       "t.toml:2:1: unknown key \"listen.host\"; the keys here are address, port, loops, "
       "check_origin, allowed_origins, trusted_proxies, proxy_header"},
      {"limits.idle_time = '10s'",
       "t.toml:1:8: unknown key \"limits.idle_time\"; it is now limits.idle_timeout"},
      {"[system]\nsearch_rounds = 7",
       "t.toml:2:1: unknown key \"system.search_rounds\"; it is now system.spin_rounds"},
      {one + "limits.run_time = '1s'",
       "t.toml:3:8: unknown key \"applications.one.limits.run_time\"; it is now "
       "applications.one.limits.run_timeout"},
      {"[lisen]\nport = 1", "t.toml:1:2: unknown key \"lisen\"; did you mean listen?"},
      {"[aplications.one]", "t.toml:1:2: unknown key \"aplications\"; did you mean applications?"},
      {"x = 1",
       "t.toml:1:1: unknown key \"x\"; the keys here are listen, tls, limits, shutdown, system, "
       "shared, "
       "log, admin, applications"},
      {one + "instnaces = 2",
       "t.toml:3:1: unknown key \"applications.one.instnaces\"; did you mean "
       "applications.one.instances?"},
      {one + "limits.memory = 2",
       "t.toml:3:8: unknown key \"applications.one.limits.memory\"; the keys here are "
       "memory_bytes, "
       "memory_warning_bytes, run_timeout, mailbox_messages, mailbox_bytes, waiting, timers, "
       "connections, subscriptions, metrics, metrics_bytes, upgrade_timeout"},

      {one + "outgoing = 'all'",
       "t.toml:3:12: applications.one.outgoing is \"all\"; allowed are true, false, hosts as "
       "[\"example.org:443\", \"*.example.org\"]"},
      {one + "outgoing = ['http://a']",
       "t.toml:3:12: applications.one.outgoing is wrong: \"http://a\" has an invalid port; "
       "allowed are 1 to 65535: write \"example.org:443\", \"example.org\", \"*.example.org\", "
       "\"10.0.0.7:80\" "
       "or "
       "\"[::1]:80\""},
      {one + "outgoing_trusted = 'no.pem'",
       "t.toml:3:20: applications.one.outgoing_trusted is \"no.pem\", but \"no.pem\" is not a "
       "file"},

      // applications
      {"applications = 3", "t.toml:1:16: applications is 3; allowed are tables"},
      {"applications.one = 'apps/one'",
       "t.toml:1:20: applications.one is \"apps/one\"; allowed are tables"},
      {"[applications.one]\nroute = '/x'",
       "t.toml:1:1: applications.one.from is missing: a folder with main.lua or a file of Lua"},
      {"[applications.\"a b\"]\nfrom = 'apps/one'",
       "t.toml:1:15: applications.\"a b\" is not a valid application name; allowed are at most 64 "
       "letters, digits, '-' and '_', a letter or a digit first"},
      {"[applications.one]\nfrom = 'apps/none'",
       "t.toml:2:8: applications.one.from is \"apps/none\", but \"apps/none\" is not a folder with "
       "main.lua or a file of Lua"},
      {"[applications.one]\nfrom = 'page'",
       "t.toml:2:8: applications.one.from is \"page\", but \"page\" is not a folder with main.lua "
       "or a file of Lua"},
      {"[applications.one]\nfrom = 'key.pem'",
       "t.toml:2:8: applications.one.from is \"key.pem\", but \"key.pem\" is not a folder with "
       "main.lua or a file of Lua"},
      {"[applications.one]\nfrom = ''",
       "t.toml:2:8: applications.one.from is \"\"; allowed are paths, as texts"},
      {one + "files = 'none'",
       "t.toml:3:9: applications.one.files is \"none\", but \"none\" is not a folder"},
      {one + "files_route = '/x/'",
       "t.toml:3:15: applications.one.files_route is given, but applications.one.files is not"},
      {one + "route = 'one'",
       "t.toml:3:9: applications.one.route is \"one\"; allowed are paths as \"/echo\""},
      {one + "route = '/{room}'",
       "t.toml:3:9: applications.one.route is \"/{room}\"; allowed are paths as \"/echo\""},
      {one + "key = 'room'",
       "t.toml:3:7: applications.one.key is \"room\"; allowed are \"\", \"path\", \"query:NAME\", "
       "\"header:NAME\""},
      {one + "instances = 0",
       "t.toml:3:13: applications.one.instances is 0; allowed are 1 to 1024"},
      {one + "config = 7", "t.toml:3:10: applications.one.config is 7; allowed are tables"},
      {one + "config.day = 2026-01-02",
       "t.toml:3:1: applications.one.config contains a date, which JSON cannot represent; write it "
       "as a string"},
      {one + "config = { a = [nan] }",
       "t.toml:3:10: applications.one.config contains a number that JSON cannot represent; write "
       "it as a string"},
      {one + "limits.run_timeout = '2h'",
       "t.toml:3:22: applications.one.limits.run_timeout is \"2h\"; allowed are 1ms to 1h"},
      {one + "limits.memory_warning_bytes = '65 MiB'",
       "t.toml:3:31: applications.one.limits.memory_warning_bytes is 65 MiB, more than "
       "applications.one.limits.memory_bytes, 64 MiB"},

      // duplicates
      {one + "[applications.two]\nfrom = 'apps/two'\nroute = '/one'",
       "t.toml:5:9: applications.two.route is \"/one\", and so is applications.one.route; change "
       "one"},
      {one + "route = '/two'\n[applications.two]\nfrom = 'apps/two'\n",
       "t.toml:4:1: applications.two.route is \"/two\", and so is applications.one.route; change "
       "one"},
      {one + "route = '/readyz'\n[admin]\npublic_health = true",
       "t.toml:3:9: applications.one.route is \"/readyz\", and so is admin.ready; change one"},
      {"admin.ready = '/healthz'",
       "t.toml:1:15: admin.ready is \"/healthz\", and so is admin.health; change one"},
      {one + "[admin]\nready = '/a'\nmetrics = '/a'",
       "t.toml:5:11: admin.metrics is \"/a\", and so is admin.ready; change one"},
      {one + "files = 'page'\nfiles_route = '/'\n[applications.two]\nfrom = 'apps/two'\n"
             "files = 'page'\nfiles_route = '/'",
       "t.toml:8:15: applications.two.files_route is \"/\", and so is "
       "applications.one.files_route; "
       "change one"},
  };
  for (const auto& each : cases) EXPECT_EQ(refused(each.text), each.line) << each.text;
}

TEST_F(configuration_file, paths_of_the_admin_listener_are_free_for_applications) {
  const configuration all = read("[applications.one]\nfrom = 'apps/one'\nroute = '/metrics'");
  EXPECT_EQ(all.applications.front().route, "/metrics");
}

TEST_F(configuration_file, the_admin_listener_has_a_default_and_can_be_off) {
  EXPECT_EQ(read("").admin.listen, "127.0.0.1:9180");
  for (const char* off : {"''", "'off'"}) {
    EXPECT_EQ(read(std::string("admin.listen = ") + off).admin.listen, "off");
  }
}

TEST_F(configuration_file, invalid_toml_is_reported_in_one_line_with_its_position) {
  for (const std::string text :
       {"[listen\nport = 1", "listen.port = ", "[listen]\nport = 1\nport = 2", "a = \"\n\"",
        "[listen]\n[listen]", "\xff = 1", "= 3", "listen.address = \"\\q\""}) {
    const std::string line = refused(text);
    EXPECT_THAT(line, testing::MatchesRegex("t\\.toml:[0-9]+:[0-9]+: [^\n]+")) << text;
  }
}

TEST_F(configuration_file, two_applications_of_one_name_or_path_are_refused) {
  configuration all;
  all.applications = {application_at(folder_.path() / "apps/one"),
                      application_at(folder_.path() / "apps/one/")};
  try {
    expect_no_duplicates(all);
    ADD_FAILURE() << "accepted";
  } catch (const configuration_error& why) {
    EXPECT_STREQ(why.what(),
                 "applications.one.name is \"one\", and so is applications.one.name; change one");
  }
}

TEST_F(configuration_file, a_file_that_cannot_be_read_is_named_with_the_reason) {
  const auto why = [&](const std::string& name) {
    try {
      (void)read_configuration(folder_.path() / name);
    } catch (const configuration_error& wrong) {
      return without_folder(wrong.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(why("none.toml"),
            "none.toml: the configuration cannot be read: No such file or directory");
  EXPECT_EQ(why("page"), "page: the configuration cannot be read: Is a directory");
}

TEST_F(configuration_file, an_application_is_named_by_its_path_alone) {
  const auto name = [&](const std::string& path) {
    return application_at(folder_.path() / path).options.name;
  };
  EXPECT_EQ(name("apps/one"), "one");
  EXPECT_EQ(name("apps/one/"), "one");
  EXPECT_EQ(name("apps/two/../one"), "one");
  EXPECT_EQ(name("apps/single.lua"), "single");
  EXPECT_EQ(application_at(folder_.path() / "apps/one").route, "/one");

  folder_.write("a b/main.lua", "");
  EXPECT_THROW((void)application_at(folder_.path() / "a b"), configuration_error);
  EXPECT_THROW((void)application_at(folder_.path() / "page"), configuration_error);
  EXPECT_THROW((void)application_at(folder_.path() / "none"), configuration_error);
}

TEST_F(configuration_file, differences_name_the_key_and_both_values) {
  const std::string one = "[applications.one]\nfrom = 'apps/one'\n";
  const configuration before = read("log.level = 'debug'\n" + one + "config.a = 1");
  const configuration now =
      read("limits.idle_timeout = '90s'\n" + one + "[applications.two]\nfrom = 'apps/two'\n");
  std::vector<std::string> said;
  for (const difference& each : differences(before, now)) {
    said.push_back(each.name + ": " + each.before + " -> " + each.now +
                   (each.reloads ? ", at once" : ""));
  }
  EXPECT_THAT(said, ElementsAre("limits.idle_timeout: 1m -> 90s",
                                "log.level: \"debug\" -> \"info\", at once",
                                "applications.one.config: {\"a\":1} -> {}, at once",
                                "applications.two: not served -> there"));
}

}  // namespace
}  // namespace troupe::server
