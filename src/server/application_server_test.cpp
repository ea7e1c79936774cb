// SPDX-License-Identifier: Apache-2.0
#include <troupe/server/application_server.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <troupe/actor/trace.hpp>
#include <troupe/base/clock.hpp>

#include "http/raw_client.hpp"
#include "http/test_certificate.hpp"
#include "http/tls_raw_client.hpp"
#include "lua/temporary_folder.hpp"

namespace troupe::server {
namespace {

using http::test::raw_client;
using http::test::tls_raw_client;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A session in C++.
class shouting : public actor {
 public:
  explicit shouting(http::websocket client) : client_(std::move(client)) {}
  void on(http::text m) { client_.send(m.data + "!"); }

 private:
  http::websocket client_;
};

class application_server_test : public testing::Test {
 protected:
  application_server_test() {
    folder_.write("echo.lua", R"(
      return {
        on_message = function(client, data) client:send(data) end,
        on_stop = function() troupe.log.info("on_stop ran") end,
      }
    )");
    what_.http.port = 0;
    what_.admin.listen = "127.0.0.1:0";
    what_.system.workers = 2;
    what_.log.to = (folder_.path() / "log").string();
    what_.applications.push_back(application_at(folder_.path() / "echo.lua"));
  }

  std::string log() const { return folder_.read("log"); }

  static http::test::answer ask_admin(const application_server& of, const std::string& path) {
    return raw_client(of.admin_port()).get(path);
  }

  static std::string said(const application_server& by, const std::string& path) {
    raw_client client(by.port());
    EXPECT_EQ(client.upgrade(path).status, 101u);
    client.say("hello");
    return client.hear();
  }

  temporary_folder folder_;
  configuration what_;
};

TEST_F(application_server_test, cpp_additions_are_served_alongside_applications) {
  const auto add = [](http::server& to, troupe::system&) {
    to.websocket<shouting>("/shout");
    to.route("GET", "/about", [](const http::request&) { return http::response::text("us\n"); });
  };
  application_server served(what_, {add});
  served.start();
  EXPECT_EQ(said(served, "/echo"), "hello");
  EXPECT_EQ(said(served, "/shout"), "hello!");
  raw_client client(served.port());
  EXPECT_EQ(client.get("/about").body, "us\n");
  EXPECT_EQ(ask_admin(served, "/readyz").body, "ready\n");
}

TEST_F(application_server_test, metrics_include_application_counters_and_script_metrics) {
  folder_.write("echo.lua", R"(
    local hits = troupe.metrics.counter("hits", "Texts said.")
    troupe.store.set("k", 1)
    troupe.queue("jobs"):push(1)
    return {on_message = function(client, data) hits:add(1, {kind = data}) client:send(data) end}
  )");
  application_server served(what_);
  served.start();
  EXPECT_EQ(said(served, "/echo"), "hello");
  const std::string text = ask_admin(served, "/metrics").body;
  for (const char* line :
       {"\n# TYPE troupe_app_hits_total counter\n"
        "troupe_app_hits_total{application=\"echo\",kind=\"hello\"} 1\n",
        "\ntroupe_application_clients_total{application=\"echo\"} 1\n",
        "\ntroupe_application_messages_total{application=\"echo\",direction=\"in\"} 1\n",
        "\ntroupe_application_failures_total{application=\"echo\",reason=\"error\"} 0\n",
        "\ntroupe_application_restarts_total{application=\"echo\"} 0\n",
        "\ntroupe_application_upgrades_total{application=\"echo\"} 0\n",
        "\ntroupe_application_outgoing_failures_total{application=\"echo\"} 0\n",
        "\ntroupe_store_entries 0\n", "\ntroupe_store_entries{application=\"echo\"} 1\n",
        "\ntroupe_queue_items{queue=\"jobs\"} 1\n", "\ntroupe_http_connections ",
        "\ntroupe_admin_connections 1\n", "\ntroupe_metrics_omitted_families 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(application_server_test,
       more_connections_than_the_usual_soft_limit_of_descriptors_are_let_in) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next_free = ::dup(0);
  ASSERT_GE(next_free, 0);
  ::close(next_free);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next_free) + 60;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  {
    application_server served(what_);
    served.start();
    std::vector<raw_client> idle;
    for (int i = 0; i < 80; ++i) idle.emplace_back(served.port());
    EXPECT_EQ(raw_client(served.port()).get("/").status, 404u);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(application_server_test, warns_when_connections_max_exceeds_the_descriptor_limit) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max == RLIM_INFINITY) GTEST_SKIP() << "there is no hard limit of descriptors";
  what_.http.limits.connections_max = before.rlim_max;
  application_server served(what_);
  EXPECT_THAT(log(), ContainsRegex("warning server: limits.connections_max is [0-9]+, but only "
                                   "[0-9]+ connections are accepted"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// ── The admin listener ──────────────────────────────────────────────────────────────────────────

TEST_F(application_server_test, clients_find_neither_metrics_nor_health_checks) {
  application_server served(what_);
  served.start();
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
    EXPECT_EQ(raw_client(served.port()).get(path).status, 404u) << path;
    EXPECT_EQ(ask_admin(served, path).status, 200u) << path;
  }
  EXPECT_EQ(ask_admin(served, "/echo").status, 404u);
}

TEST_F(application_server_test, health_checks_are_public_if_asked_for_and_metrics_are_not) {
  what_.admin.public_health = true;
  application_server served(what_);
  served.start();
  EXPECT_EQ(raw_client(served.port()).get("/healthz").body, "ok\n");
  EXPECT_EQ(raw_client(served.port()).get("/readyz").body, "ready\n");
  EXPECT_EQ(raw_client(served.port()).get("/metrics").status, 404u);
  EXPECT_EQ(ask_admin(served, "/readyz").body, "ready\n");
}

TEST_F(application_server_test, the_admin_listener_can_be_off) {
  for (const char* off : {"off", ""}) {
    what_.admin.listen = off;
    what_.admin.public_health = true;
    application_server served(what_);
    served.start();
    EXPECT_EQ(served.admin_port(), 0);
    EXPECT_EQ(raw_client(served.port()).get("/readyz").status, 200u);
    EXPECT_EQ(served.run([&] { served.stop(); }), 0);
  }
  EXPECT_THAT(log(), Not(HasSubstr("metrics and health checks are served")));
}

TEST_F(application_server_test, the_admin_listener_is_plain_http_and_in_the_log) {
  application_server served(what_);
  served.start();
  EXPECT_THAT(
      log(), HasSubstr("metrics and health checks are served on 127.0.0.1:" +
                       std::to_string(served.admin_port()) + ", and not on the port of clients\n"));
}

TEST_F(application_server_test, an_admin_port_that_is_taken_fails_the_start_before_applications) {
  application_server first(what_);
  first.start();
  what_.admin.listen = "127.0.0.1:" + std::to_string(first.admin_port());
  what_.log.to = (folder_.path() / "second").string();
  {
    application_server second(what_);
    try {
      second.start();
      FAIL() << "both listen";
    } catch (const std::system_error& why) {
      EXPECT_EQ(std::string(why.what()),
                "cannot listen on " + what_.admin.listen +
                    " (admin.listen; choose another address, \"unix:PATH\" or \"off\"): "
                    "Address already in use");
    }
  }
  EXPECT_THAT(folder_.read("second"), Not(HasSubstr("has started")));
}

TEST_F(application_server_test, the_admin_listener_responds_for_its_own_hosts_alone) {
  what_.admin.host_names = {"admin.internal"};
  application_server served(what_);
  served.start();
  raw_client c(served.admin_port());
  for (const auto& [host, status] :
       {std::pair("admin.internal:9180", 200u), {"127.0.0.1", 200u}, {"evil.example", 421u}}) {
    c.send("GET /metrics HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n");
    EXPECT_EQ(c.read_answer().status, status) << host;
  }
  EXPECT_THAT(ask_admin(served, "/metrics").body,
              HasSubstr("\ntroupe_admin_refused_total{reason=\"host\"} 1\n"));
  what_.admin.host_names = {"a:1"};
  try {
    const application_server wrong(what_);
    FAIL() << "it was accepted";
  } catch (const configuration_error& why) {
    EXPECT_THAT(why.what(), HasSubstr("admin.host_names: host name \"a:1\""));
  }
}

TEST_F(application_server_test, an_admin_address_that_is_none_is_refused) {
  what_.admin.listen = "9180";
  try {
    const application_server served(what_);
    FAIL() << "it was accepted";
  } catch (const configuration_error& why) {
    EXPECT_THAT(why.what(), HasSubstr("admin.listen: \"9180\" is not an address to listen on"));
  }
}

// A port that nothing listens on. Another process may take it before it is used, but the kernel
// gives out others first.
// A port that no other process gets meanwhile by listening on port 0, or by connecting: the kernel
// gives those from 32768 on.
std::uint16_t free_port() {
  for (int port = 20'000 + ::getpid() % 10'000; port < 32'000; ++port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool is_free = ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(fd);
    if (is_free) return static_cast<std::uint16_t>(port);
  }
  ADD_FAILURE() << "no port is free";
  return 0;
}

TEST_F(application_server_test, readiness_is_told_until_the_applications_have_stopped) {
  const std::string address = "127.0.0.1:" + std::to_string(free_port());
  what_.admin.listen = address;
  folder_.write("echo.lua", R"(
    return {
      on_message = function() end,
      on_stop = function()
        local got = assert(troupe.http.get(troupe.config.url))
        troupe.log.info("on_stop sees " .. got.status .. " " .. got.body)
      end,
    }
  )");
  what_.applications.front().options.config = R"({"url": "http://)" + address + R"(/readyz"})";
  application_server* running = nullptr;
  std::string before;
  application_server served(what_, {[&](http::server&, troupe::system&) {
                              before = ask_admin(*running, "/readyz").body;
                            }});
  running = &served;
  std::string meanwhile;
  const int code = served.run([&] {
    meanwhile = ask_admin(served, "/readyz").body;
    served.stop();
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(before, "starting\n");
  EXPECT_EQ(meanwhile, "ready\n");
  EXPECT_THAT(log(), HasSubstr("on_stop sees 503 draining"));
  EXPECT_THROW(ask_admin(served, "/readyz"), std::system_error) << "nothing listens any more";
}

TEST_F(application_server_test, the_admin_listener_can_be_a_unix_socket_which_goes_at_the_end) {
  const auto path = folder_.path() / "admin";
  what_.admin.listen = "unix:" + path.string();
  application_server served(what_);
  EXPECT_EQ(served.run([&] {
    EXPECT_TRUE(std::filesystem::is_socket(path));
    EXPECT_EQ(served.admin_port(), 0);
    served.stop();
  }),
            0);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(log(), HasSubstr("metrics and health checks are served on " + what_.admin.listen));
}

// Each has the whole of its quota, whatever the other one does.
TEST_F(application_server_test, the_metrics_of_an_application_do_not_push_out_those_of_another) {
  what_.admin.metrics_bytes = 64 * 1024;
  folder_.write("greedy.lua", R"(
    local seen = troupe.metrics.gauge("seen")
    local n = 0
    while seen:set(1, {n = n, x = ("x"):rep(100)}) do n = n + 1 end
    return {on_message = function() end}
  )");
  folder_.write("echo.lua", R"(
    local seen = troupe.metrics.histogram("seen")
    seen:observe(3)
    return {on_message = function() end}
  )");
  what_.applications.insert(what_.applications.begin(),
                            application_at(folder_.path() / "greedy.lua"));
  what_.applications.front().options.limits.metrics = 1'000'000;
  application_server served(what_);
  served.start();
  const std::string text = ask_admin(served, "/metrics").body;
  EXPECT_THAT(text, HasSubstr("\ntroupe_app_seen_histogram_sum{application=\"echo\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\ntroupe_app_seen{application=\"greedy\",n=\"0\""));
  EXPECT_THAT(text, HasSubstr("\ntroupe_metrics_omitted_families 0\n"));
  EXPECT_LE(text.size(), 2u * 256 * 1024 + 1024 * 1024);
}

TEST_F(application_server_test, a_reload_names_the_keys_of_the_admin_listener_as_waiting) {
  configuration next = what_;
  next.admin.listen = "off";
  next.admin.public_health = true;
  application_server served(what_, {}, [&] { return next; });
  served.start();
  const std::string told = served.reload().text;
  EXPECT_THAT(told, HasSubstr("admin.listen is now \"off\", but stays \"127.0.0.1:0\" until a "
                              "restart\n"));
  EXPECT_THAT(told, HasSubstr("admin.public_health is now true, but stays false until a restart"));
  EXPECT_EQ(ask_admin(served, "/readyz").status, 200u);
  EXPECT_EQ(raw_client(served.port()).get("/readyz").status, 404u);
}

TEST_F(application_server_test, its_end_stops_the_applications) {
  {
    application_server served(what_);
    served.start();
  }
  EXPECT_THAT(log(), HasSubstr("echo/1: on_stop ran"));
}

TEST_F(application_server_test, stop_has_run_return_in_order) {
  application_server served(what_);
  std::jthread other;
  const int code = served.run([&] { other = std::jthread([&] { served.stop(); }); });
  EXPECT_EQ(code, 0);
  EXPECT_THAT(log(), HasSubstr("echo/1: on_stop ran"));
  EXPECT_THAT(log(), HasSubstr("info    server: stopped\n"));
}

TEST_F(application_server_test, stop_before_run_has_it_return_at_once) {
  application_server served(what_);
  served.stop();
  EXPECT_EQ(served.run([] { ADD_FAILURE() << "it has started"; }), 0);
}

TEST_F(application_server_test, a_signal_during_the_start_is_not_lost) {
  application_server served(what_,
                            {[](http::server&, troupe::system&) { ::kill(::getpid(), SIGTERM); }});
  EXPECT_EQ(served.run(), 0);
}

TEST_F(application_server_test, start_rethrows_exceptions_of_additions_and_stops_applications) {
  {
    application_server served(
        what_, {[](http::server&, troupe::system&) { throw std::runtime_error("no"); }});
    EXPECT_THROW(served.start(), std::runtime_error);
  }
  EXPECT_THAT(log(), HasSubstr("echo/1: on_stop ran"));
}

TEST_F(application_server_test, reload_calls_the_configuration_provider) {
  configuration next = what_;
  next.log.level = lua::severity::error;
  application_server served(what_, {}, [&] { return next; });
  served.start();
  served.reload();
  EXPECT_EQ(served.run([&] { served.stop(); }), 0);
  EXPECT_THAT(log(), testing::Not(HasSubstr("on_stop ran")));
}

// ── TLS ─────────────────────────────────────────────────────────────────────────────────────────

class application_server_with_tls : public application_server_test {
 protected:
  application_server_with_tls() {
    renew({});
    what_.http.tls = {.certificate = folder_.path() / "it.pem", .key = folder_.path() / "it.key"};
  }
  /// Replaces the contents of the files.
  void renew(const http::test::certificate_wish& wish) const {
    const http::test::test_certificate made(wish);
    folder_.write("it.pem", made.certificate);
    folder_.write("it.key", made.key);
  }
  static std::string subject(const application_server& of) {
    return tls_raw_client(of.port()).subject();
  }
};

TEST_F(application_server_with_tls, serves_websockets_over_tls_and_logs_the_certificate) {
  application_server served(what_);
  served.start();
  tls_raw_client client(served.port());
  EXPECT_EQ(client.upgrade("/echo").status, 101u);
  client.say("hello");
  EXPECT_EQ(client.hear(), "hello");
  EXPECT_THAT(log(),
              HasSubstr("TLS: new connections get the certificate of CN=localhost, until 20"));
  EXPECT_THAT(log(), HasSubstr("it expires within two weeks"));
}

TEST_F(application_server_with_tls, a_reload_reads_the_files_again_though_nothing_else_is_new) {
  renew({.days_to = 300});
  application_server served(what_, {}, [this] { return what_; });
  served.start();
  tls_raw_client before(served.port());
  EXPECT_EQ(before.upgrade("/echo").status, 101u);
  renew({.name = "renewed", .days_to = 300});
  served.reload();
  EXPECT_EQ(subject(served), "/CN=renewed");
  EXPECT_THAT(log(), HasSubstr("TLS: new connections get the certificate of CN=renewed, until 20"));
  EXPECT_THAT(log(), testing::Not(HasSubstr("warning")));
  before.say("hello");
  EXPECT_EQ(before.hear(), "hello");
}

TEST_F(application_server_with_tls, a_reload_without_a_configuration_reads_them_as_well) {
  application_server served(what_);
  served.start();
  renew({.name = "renewed", .days_from = -9, .days_to = -1});
  served.reload();
  EXPECT_EQ(subject(served), "/CN=renewed");
  EXPECT_THAT(log(), HasSubstr("it has expired"));
}

TEST_F(application_server_with_tls, a_reload_of_a_wrong_pair_changes_nothing) {
  configuration next = what_;
  next.log.level = lua::severity::error;
  application_server served(what_, {}, [&] { return next; });
  served.start();
  const std::string key = folder_.read("it.key");
  renew({.name = "renewed"});
  folder_.write("it.key", key);
  served.reload();
  EXPECT_EQ(subject(served), "/CN=localhost");
  EXPECT_THAT(log(), testing::ContainsRegex(
                         "key \"[^\"]*it.key\" does not belong to certificate \"[^\"]*it.pem\"; "
                         "nothing was changed"));
  folder_.write("it.key", "");
  served.reload();
  EXPECT_THAT(log(),
              HasSubstr("the file contains no private key in PEM format; nothing was changed"));
  EXPECT_EQ(subject(served), "/CN=localhost");
  EXPECT_THAT(log(), testing::Not(HasSubstr("log.level is now")));
}

TEST_F(application_server_with_tls, reload_changes_tls_options_but_does_not_disable_tls) {
  configuration next = what_;
  next.http.tls.min_version = http::tls_version::v1_3;
  application_server served(what_, {}, [&] { return next; });
  served.start();
  served.reload();
  EXPECT_THAT(log(), HasSubstr("tls.min_version is now \"1.3\", was \"1.2\""));
  const auto old = [](SSL_CTX* c) { SSL_CTX_set_max_proto_version(c, TLS1_2_VERSION); };
  EXPECT_THROW(tls_raw_client(served.port(), old), std::runtime_error);

  next.http.tls = {};
  served.reload();
  EXPECT_THAT(log(), testing::ContainsRegex(
                         "tls.certificate is now \"\", but stays [^\n]* until a restart"));
  EXPECT_EQ(subject(served), "/CN=localhost");
}

TEST_F(application_server_with_tls, a_pair_that_does_not_fit_is_no_server) {
  folder_.write("it.key", http::test::test_certificate{}.key);
  EXPECT_THROW(const application_server none(what_), http::tls_error);
}

TEST_F(application_server_test, an_actor_that_fails_is_in_the_log) {
  struct failing : actor {
    void on(int) { throw std::runtime_error("as told"); }
  };
  application_server served(what_, {[](http::server&, troupe::system& in) {
                              const ref<failing> made = in.spawn<failing>();
                              made.send(1);
                              made.join();
                            }});
  served.start();
  EXPECT_THAT(log(), HasSubstr("as told\n")) << "no trace, as it has none";
}

struct told_to_fail : actor {
  void on(int) { throw std::runtime_error("as told"); }
};

// Fails, and is sent more messages.
application_server::addition fails_and_is_sent(int more) {
  return [more](http::server&, troupe::system& in) {
    const trace_scope scope(42);
    const ref<told_to_fail> made = in.spawn<told_to_fail>();
    made.send(1);
    made.join();
    for (int i = 0; i < more; ++i) made.send(2);
  };
}

TEST_F(application_server_test, failures_and_dead_letters_are_logged_with_trace_ids) {
  what_.system.traces = true;
  what_.log.level = lua::severity::debug;
  application_server served(what_, {fails_and_is_sent(1)});
  served.start();
  EXPECT_THAT(log(), HasSubstr("failed in int: as told, trace 42\n"));
  EXPECT_THAT(log(), ContainsRegex("debug +server: dead letter: int to .*, trace 42\n"));
}

TEST_F(application_server_test, dead_letters_are_not_in_a_log_that_leaves_debugging_out) {
  int told = 0;
  what_.system.on_dead_letter = [&](const dead_letter&) { ++told; };
  application_server served(what_, {fails_and_is_sent(1)});
  served.start();
  EXPECT_THAT(log(), Not(HasSubstr("dead letter")));
  EXPECT_EQ(told, 1) << "who made the configuration is told all the same";
}

TEST_F(application_server_test, very_many_dead_letters_do_not_flood_the_log) {
  constexpr int many = 2'000;
  what_.log.level = lua::severity::debug;
  application_server served(what_, {fails_and_is_sent(many)});
  const time_point began = clock::now();
  served.start();
  const std::int64_t seconds =
      std::chrono::ceil<std::chrono::seconds>(clock::now() - began).count();
  const std::string text = log();
  std::int64_t lines = 0;
  for (auto at = text.find("dead letter: "); at != std::string::npos;
       at = text.find("dead letter: ", at + 1)) {
    ++lines;
  }
  EXPECT_GE(lines, 100);
  EXPECT_LE(lines, 100 * (seconds + 1)) << "so many in a second";
}

}  // namespace
}  // namespace troupe::server
