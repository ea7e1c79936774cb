// SPDX-License-Identifier: Apache-2.0
#include <troupe/server/application_server.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
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

class application_server_with : public testing::Test {
 protected:
  application_server_with() {
    folder_.write("echo.lua", R"(
      return {
        on_message = function(client, data) client:send(data) end,
        on_stop = function() troupe.log.info("on_stop ran") end,
      }
    )");
    what_.http.port = 0;
    what_.system.workers = 2;
    what_.log.to = (folder_.path() / "log").string();
    what_.applications.push_back(application_at(folder_.path() / "echo.lua"));
  }

  std::string log() const { return folder_.read("log"); }

  static std::string said(const application_server& by, const std::string& path) {
    raw_client client(by.port());
    EXPECT_EQ(client.upgrade(path).status, 101u);
    client.say("hello");
    return client.hear();
  }

  temporary_folder folder_;
  configuration what_;
};

TEST_F(application_server_with, additions_sessions_in_cpp_are_served_beside_applications) {
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
  EXPECT_EQ(client.get("/readyz").body, "ready\n");
}

TEST_F(application_server_with, metrics_show_what_applications_do_and_what_their_scripts_count) {
  folder_.write("echo.lua", R"(
    local hits = troupe.metrics.counter("hits", "Texts said.")
    troupe.store.set("k", 1)
    troupe.queue("jobs"):push(1)
    return {on_message = function(client, data) hits:add(1, {kind = data}) client:send(data) end}
  )");
  application_server served(what_);
  served.start();
  EXPECT_EQ(said(served, "/echo"), "hello");
  raw_client client(served.port());
  const std::string text = client.get("/metrics").body;
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
        "\ntroupe_queue_items{queue=\"jobs\"} 1\n", "\ntroupe_http_connections "}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(application_server_with,
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
    EXPECT_EQ(raw_client(served.port()).get("/healthz").status, 200u);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(application_server_with, connections_that_there_are_no_descriptors_for_are_said_so) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max == RLIM_INFINITY) GTEST_SKIP() << "there is no hard limit of descriptors";
  what_.http.limits.connections_max = before.rlim_max;
  application_server served(what_);
  EXPECT_THAT(log(), ContainsRegex("warning server: limits.connections_max is [0-9]+, but only "
                                   "[0-9]+ connections are accepted"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(application_server_with, its_end_stops_the_applications) {
  {
    application_server served(what_);
    served.start();
  }
  EXPECT_THAT(log(), HasSubstr("echo/1: on_stop ran"));
}

TEST_F(application_server_with, stop_has_run_return_in_order) {
  application_server served(what_);
  std::jthread other;
  const int code = served.run([&] { other = std::jthread([&] { served.stop(); }); });
  EXPECT_EQ(code, 0);
  EXPECT_THAT(log(), HasSubstr("echo/1: on_stop ran"));
  EXPECT_THAT(log(), HasSubstr("info    server: stopped\n"));
}

TEST_F(application_server_with, stop_before_run_has_it_return_at_once) {
  application_server served(what_);
  served.stop();
  EXPECT_EQ(served.run([] { ADD_FAILURE() << "it has started"; }), 0);
}

TEST_F(application_server_with, a_signal_during_the_start_is_not_lost) {
  application_server served(what_,
                            {[](http::server&, troupe::system&) { ::kill(::getpid(), SIGTERM); }});
  EXPECT_EQ(served.run(), 0);
}

TEST_F(application_server_with, what_an_addition_throws_start_throws_and_applications_are_stopped) {
  {
    application_server served(
        what_, {[](http::server&, troupe::system&) { throw std::runtime_error("no"); }});
    EXPECT_THROW(served.start(), std::runtime_error);
  }
  EXPECT_THAT(log(), HasSubstr("echo/1: on_stop ran"));
}

TEST_F(application_server_with, a_reload_asks_who_made_the_configuration) {
  configuration next = what_;
  next.log.level = lua::severity::error;
  application_server served(what_, {}, [&] { return next; });
  served.start();
  served.reload();
  EXPECT_EQ(served.run([&] { served.stop(); }), 0);
  EXPECT_THAT(log(), testing::Not(HasSubstr("on_stop ran")));
}

// ── TLS ─────────────────────────────────────────────────────────────────────────────────────────

class application_server_with_tls : public application_server_with {
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

TEST_F(application_server_with_tls, serves_by_it_and_says_which_certificate) {
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

TEST_F(application_server_with_tls, its_keys_reload_but_not_from_or_to_none) {
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

TEST_F(application_server_with, an_actor_that_fails_is_in_the_log) {
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

TEST_F(application_server_with, traces_has_them_behind_failures_and_dead_letters_in_the_log) {
  what_.system.traces = true;
  what_.log.level = lua::severity::debug;
  application_server served(what_, {fails_and_is_sent(1)});
  served.start();
  EXPECT_THAT(log(), HasSubstr("failed in int: as told, trace 42\n"));
  EXPECT_THAT(log(), ContainsRegex("debug +server: dead letter: int to .*, trace 42\n"));
}

TEST_F(application_server_with, dead_letters_are_not_in_a_log_that_leaves_debugging_out) {
  int told = 0;
  what_.system.on_dead_letter = [&](const dead_letter&) { ++told; };
  application_server served(what_, {fails_and_is_sent(1)});
  served.start();
  EXPECT_THAT(log(), Not(HasSubstr("dead letter")));
  EXPECT_EQ(told, 1) << "who made the configuration is told all the same";
}

TEST_F(application_server_with, very_many_dead_letters_do_not_flood_the_log) {
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
