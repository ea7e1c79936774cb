// SPDX-License-Identifier: Apache-2.0
#include <troupe/server/application_server.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "http/raw_client.hpp"
#include "lua/temporary_folder.hpp"

namespace troupe::server {
namespace {

using http::test::raw_client;
using testing::HasSubstr;

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
        "\ntroupe_store_entries 0\n", "\ntroupe_store_entries{application=\"echo\"} 1\n",
        "\ntroupe_queue_items{queue=\"jobs\"} 1\n", "\ntroupe_http_connections "}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
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

TEST_F(application_server_with, tls_is_refused_as_long_as_there_is_none) {
  what_.tls.certificate = "certificate.pem";
  EXPECT_THROW(const application_server none(what_), configuration_error);
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
  EXPECT_THAT(log(), HasSubstr("as told"));
}

}  // namespace
}  // namespace troupe::server
