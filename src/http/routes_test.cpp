// SPDX-License-Identifier: Apache-2.0

#include <troupe/http/routes.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <troupe/http/problem.hpp>

#include "test_server.hpp"

namespace troupe::http::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using kind = route_entry::kind;

/// Responds with the pattern's name and the parameters.
handler saying(std::string what, std::vector<std::string> parameters = {}) {
  return [what = std::move(what), parameters = std::move(parameters)](const request& r) {
    std::string all = what;
    for (const std::string& each : parameters) all.append(" ").append(r.path(each));
    return response::text(std::move(all));
  };
}

/// Says its parameter, and then everything that it hears.
class guest : public actor {
 public:
  explicit guest(http::websocket client) : client_(std::move(client)) {
    client_.send("room " + client_.upgrade_request().path<std::string>("room"));
  }
  void on(http::text m) { client_.send(std::move(m.data)); }

 private:
  http::websocket client_;
};

/// Needs a number in its path.
class numbered : public actor {
 public:
  explicit numbered(http::websocket client)
      : number_(client.upgrade_request().path<std::uint32_t>("n")) {}
  void on(http::text) {}

 private:
  std::uint32_t number_;
};

/// A folder with one file, which is removed at the end.
class folder {
 public:
  folder() {
    std::string name = std::filesystem::temp_directory_path() / "routes-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
    std::filesystem::create_directory(path_ / "sub");
    std::ofstream(path_ / "a.txt") << "file a";
    std::ofstream(path_ / "sub" / "b.txt") << "file b";
  }
  ~folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "nothing";
}

class routing : public served {
 protected:
  void SetUp() override {
    start(on_free_port(), [this](http::server& s) {
      s.get("/accounts/{id}", [](const request& r) {
        return response::text(std::to_string(r.path<std::uint32_t>("id") + 1));
      });
      s.post("/accounts/{id}",
             [](const request& r) { return response::text(std::string{r.path("id")} + r.body()); });
      s.get("/accounts/{id}/entries/{entry}", saying("entry", {"id", "entry"}));
      s.post("/accounts/me", saying("me"));
      s.get("/items", [](const request& r) {
        return response::text(std::to_string(r.query<std::uint32_t>("limit", 50)));
      });
      s.get("/wrong/{id}", saying("wrong", {"other"}));
      s.get("/conflict/{id}", [](const request& r) -> response {
        throw request_error(409, "version " + std::string{r.path("id")} + " is outdated", "Stale");
      });
      s.put("/things/{id}", saying("put", {"id"}));
      s.patch("/things/{id}", saying("patch", {"id"}));
      s.del("/things/{id}", saying("del", {"id"}));
      s.route("OPTIONS", "/own/{id}", saying("options", {"id"}));
      s.get("/files/{rest...}", saying("rest", {"rest"}));
      s.resource("/page/{any}", "text/html", "<p>page");
      s.websocket<guest>("/rooms/{room}");
      s.get("/rooms/{room}", saying("page of", {"room"}));
      s.websocket<numbered>("/numbers/{n}");
      s.files("/static", folder_.path());
      s.get("/static/{name}/info", saying("info", {"name"}));
      s.metrics();
      s.health();
    });
  }
  answer ask(const std::string& method, const std::string& target, const std::string& body = {}) {
    raw_client c = connect();
    c.send(method + " " + target + " HTTP/1.1\r\nHost: here\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body);
    return c.read_answer(method != "HEAD");
  }

  folder folder_;
};

TEST_F(routing, a_handler_gets_the_parameters_of_its_path) {
  EXPECT_EQ(ask("GET", "/accounts/41").body, "42");
  EXPECT_EQ(ask("GET", "/%61ccounts/%34%31?x=1").body, "42");
  EXPECT_EQ(ask("POST", "/accounts/7", " with a body").body, "7 with a body");
  EXPECT_EQ(ask("GET", "/accounts/1/entries/a%2Fb").body, "entry 1 a/b");
  EXPECT_EQ(ask("GET", "http://here/accounts/1/entries/2").body, "entry 1 2");
  EXPECT_EQ(ask("GET", "/files/a/b").body, "rest a/b");
  EXPECT_EQ(ask("GET", "/page/1").body, "<p>page");
  EXPECT_EQ(ask("PUT", "/things/1").body, "put 1");
  EXPECT_EQ(ask("PATCH", "/things/1").body, "patch 1");
  EXPECT_EQ(ask("DELETE", "/things/1").body, "del 1");
}

TEST_F(routing, the_parameters_of_a_request_are_not_those_of_the_one_before) {
  raw_client c = connect();
  EXPECT_EQ(c.get("/accounts/1/entries/2").body, "entry 1 2");
  EXPECT_EQ(c.get("/files/x").body, "rest x");
  EXPECT_EQ(c.get("/accounts/8").body, "9");
}

TEST_F(routing, a_wrong_value_is_answered_with_a_problem_that_is_no_failure) {
  const answer a = ask("GET", "/accounts/-1");
  EXPECT_EQ(a.status, 400u);
  EXPECT_EQ(a.headers.at("content-type"), "application/problem+json");
  EXPECT_EQ(a.body,
            R"({"title":"Bad Request","status":400,"detail":"the path parameter \"id\" is \"-1\", )"
            R"(which is not an integer from 0 to 4294967295"})");
  EXPECT_EQ(ask("GET", "/items?limit=x").status, 400u);
  EXPECT_EQ(ask("GET", "/items?limit=7").body, "7");
  EXPECT_EQ(ask("GET", "/items").body, "50");
  EXPECT_EQ(ask("GET", "/conflict/3").body,
            R"({"title":"Stale","status":409,"detail":"version 3 is outdated"})");
  EXPECT_EQ(ask("HEAD", "/conflict/3").status, 409u);
  EXPECT_EQ(statistics().handler_failures, 0u);
  EXPECT_EQ(statistics().malformed_requests, 0u);
}

TEST_F(routing, the_connection_stays_open_after_a_problem) {
  raw_client c = connect();
  EXPECT_EQ(c.get("/accounts/x").status, 400u);
  EXPECT_EQ(c.get("/accounts/1").body, "2");
}

TEST_F(routing, an_unknown_name_is_a_failure_of_the_handler) {
  EXPECT_EQ(ask("GET", "/wrong/1").status, 500u);
  EXPECT_EQ(statistics().handler_failures, 1u);
}

// ── Methods ───────────────────────────────────────────────────────────────────────────────────

TEST_F(routing, other_methods_are_405_with_those_of_the_pattern) {
  const answer wrong = ask("DELETE", "/accounts/7");
  EXPECT_EQ(wrong.status, 405u);
  EXPECT_EQ(wrong.headers.at("allow"), "GET, HEAD, OPTIONS, POST");
  EXPECT_EQ(ask("GET", "/things/7").headers.at("allow"), "DELETE, OPTIONS, PATCH, PUT");
  EXPECT_EQ(ask("GET", "/accounts/7/entries").status, 404u);
  EXPECT_EQ(ask("FROB", "/accounts/7").status, 501u);
}

TEST_F(routing, only_the_literal_route_of_a_path_counts) {
  EXPECT_EQ(ask("POST", "/accounts/me").body, "me");
  const answer wrong = ask("GET", "/accounts/me");
  EXPECT_EQ(wrong.status, 405u) << "although /accounts/{id} has GET";
  EXPECT_EQ(wrong.headers.at("allow"), "OPTIONS, POST");
}

TEST_F(routing, options_is_answered_with_the_methods) {
  const answer a = ask("OPTIONS", "/accounts/7");
  EXPECT_EQ(a.status, 204u);
  EXPECT_EQ(a.headers.at("allow"), "GET, HEAD, OPTIONS, POST");
  EXPECT_EQ(a.headers.count("content-length"), 0u);
  EXPECT_EQ(a.headers.count("content-type"), 0u);
  EXPECT_EQ(ask("OPTIONS", "/accounts/me").headers.at("allow"), "OPTIONS, POST");
  EXPECT_EQ(ask("OPTIONS", "/static/a.txt").headers.at("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(ask("OPTIONS", "/page/1").headers.at("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(ask("OPTIONS", "/numbers/1").headers.at("allow"), "GET, OPTIONS");
  EXPECT_EQ(ask("OPTIONS", "/metrics").headers.at("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(ask("OPTIONS", "/healthz").headers.at("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(ask("OPTIONS", "/nowhere").status, 404u);
}

TEST_F(routing, an_own_handler_of_options_replaces_that_of_the_server) {
  EXPECT_EQ(ask("OPTIONS", "/own/7").body, "options 7");
  EXPECT_EQ(ask("GET", "/own/7").headers.at("allow"), "OPTIONS");
}

TEST_F(routing, head_is_get_without_its_body) {
  const answer a = ask("HEAD", "/accounts/41");
  EXPECT_EQ(a.status, 200u);
  EXPECT_EQ(a.headers.at("content-length"), "2");
  EXPECT_EQ(ask("HEAD", "/things/1").status, 405u);
}

// ── Files, WebSockets ─────────────────────────────────────────────────────────────────────────

TEST_F(routing, files_are_served_below_their_prefix) {
  EXPECT_EQ(ask("GET", "/static/a.txt").body, "file a");
  EXPECT_EQ(ask("GET", "/static/sub/b.txt").body, "file b");
  EXPECT_EQ(ask("GET", "/static/sub/info").body, "info sub") << "a pattern comes first";
  EXPECT_EQ(ask("GET", "/static").headers.at("location"), "/static/");
  EXPECT_EQ(ask("GET", "/static%2Fa.txt").body, "file a") << "for files, %2F is a slash";
  EXPECT_EQ(ask("GET", "/static/sub%2Fb.txt").body, "file b");
}

TEST_F(routing, no_escape_leads_out_of_a_folder) {
  for (const char* target :
       {"/static/%2E%2E/a.txt", "/static/..%2F..%2Fetc%2Fpasswd", "/static/%2Fetc%2Fpasswd",
        "/static//etc/passwd", "/static/sub%2F..%2F..%2F", "/static%2F..%2Fetc/passwd",
        "/static/../../../../../../etc/passwd"}) {
    EXPECT_EQ(ask("GET", target).status, 404u) << target;
  }
}

TEST_F(routing, a_session_reads_the_parameters_of_its_path) {
  raw_client c = open("/rooms/a%2Fb");
  EXPECT_EQ(c.hear(), "room a/b");
  c.say("hello");
  EXPECT_EQ(c.hear(), "hello");
  EXPECT_EQ(ask("GET", "/rooms/x").body, "page of x");
  EXPECT_EQ(ask("GET", "/numbers/7").status, 426u);
}

TEST_F(routing, a_wrong_parameter_of_a_session_closes_its_connection) {
  raw_client good = open("/numbers/7");
  raw_client bad = open("/numbers/x");
  EXPECT_EQ(bad.read_close().code(), 1011u);
  good.send(raw_client::frame(raw_client::close, raw_client::close_payload(1000)));
  EXPECT_EQ(good.read_close().code(), 1000u);
}

TEST_F(routing, long_and_empty_segments_are_answered_at_once) {
  std::string deep;
  for (int i = 0; i < 3'000; ++i) deep += "/a";
  EXPECT_EQ(ask("GET", deep).status, 404u);
  EXPECT_EQ(ask("GET", std::string(7'000, '/')).status, 404u);
  EXPECT_EQ(ask("GET", "/files" + std::string(6'000, '/')).status, 200u);
  std::string escaped = "/files/";
  for (int i = 0; i < 2'000; ++i) escaped += "%2F";
  EXPECT_EQ(ask("GET", escaped).body, "rest " + std::string(2'000, '/'));
}

// ── Sets of routes ────────────────────────────────────────────────────────────────────────────

TEST(routes, can_be_tested_alone) {
  folder some;
  http::routes all;
  all.get("/{id}", saying("one"));
  all.post("/", saying("new"));
  all.websocket<guest>("/{room}/chat");
  all.files("/static", some.path());
  EXPECT_EQ(all.pattern_of("/7?x=1"), "/{id}");
  EXPECT_EQ(all.pattern_of("/"), "/");
  EXPECT_EQ(all.pattern_of("/7/chat"), "/{room}/chat");
  EXPECT_EQ(all.pattern_of("/static/a/b"), "/static/");
  EXPECT_EQ(all.pattern_of("/7/other"), "");
  EXPECT_THAT(refusal_of([&] { (void)all.pattern_of("no/path"); }), HasSubstr("\"no/path\""));
  EXPECT_EQ(to_string(all.entries()),
            "POST /, GET /static/ (files), GET /{id}, GET /{room}/chat (websocket)");
}

TEST(routes, are_checked_when_they_are_added) {
  http::routes all;
  all.get("/{id}", saying("one"));
  EXPECT_THAT(refusal_of([&] { all.get("/{id}", saying("two")); }),
              HasSubstr("route \"/{id}\": GET has a handler already"));
  EXPECT_THAT(refusal_of([&] { all.post("/{other}", saying("two")); }),
              HasSubstr("route \"/{other}\": the route \"/{id}\" has the same paths and other "
                        "names: use the same names"));
  EXPECT_THAT(refusal_of([&] { all.get("relative", saying("two")); }),
              HasSubstr("must begin with a slash"));
  EXPECT_THAT(to_string(all.entries()), "GET /{id}");
}

class mounting : public served {
 protected:
  static http::routes accounts() {
    http::routes all;
    all.get("/", saying("all"));
    all.get("/{id}", saying("account", {"id"}));
    all.websocket<guest>("/{id}/{room}");
    all.resource("/about", "text/plain", "about accounts");
    return all;
  }
};

TEST_F(mounting, a_set_is_served_below_each_of_its_prefixes) {
  folder some;
  start(on_free_port(), [&](http::server& s) {
    http::routes api;
    api.mount("/accounts", accounts());
    api.files("/static", some.path());
    s.mount("/api/v1", api);
    s.mount("/api/v2", api);
  });
  raw_client c = connect();
  for (const std::string prefix : {"/api/v1", "/api/v2"}) {
    EXPECT_EQ(c.get(prefix + "/accounts").body, "all");
    EXPECT_EQ(c.get(prefix + "/accounts/").status, 404u);
    EXPECT_EQ(c.get(prefix + "/accounts/7").body, "account 7");
    EXPECT_EQ(c.get(prefix + "/accounts/about").body, "about accounts");
    EXPECT_EQ(c.get(prefix + "/static/a.txt").body, "file a");
    raw_client chat = open(prefix + "/accounts/7/blue");
    EXPECT_EQ(chat.hear(), "room blue");
  }
  EXPECT_EQ(c.get("/accounts").status, 404u);
}

TEST_F(mounting, the_set_may_be_destroyed_and_its_sessions_are_logged) {
  std::vector<unsigned> closed;
  std::mutex mutex;
  http::options o = on_free_port();
  o.on_access = [&](const http::access& one) {
    const std::lock_guard lock(mutex);
    if (one.what == access::kind::websocket) closed.push_back(one.status);
  };
  start(std::move(o), [](http::server& s) { s.mount("/a", accounts()); });
  raw_client chat = open("/a/7/blue");
  EXPECT_EQ(chat.hear(), "room blue");
  chat.send(raw_client::frame(raw_client::close, raw_client::close_payload(1000)));
  EXPECT_EQ(chat.read_close().code(), 1000u);
  ASSERT_TRUE(comes_true([&] {
    const std::lock_guard lock(mutex);
    return !closed.empty();
  }));
  EXPECT_THAT(closed, ElementsAre(1000u));
  server_.reset();
}

TEST_F(mounting, parameters_of_the_prefix_are_visible) {
  start(on_free_port(), [](http::server& s) {
    http::routes all;
    all.get("/", saying("tenant", {"tenant"}));
    all.get("/accounts/{id}", saying("account", {"tenant", "id"}));
    s.mount("/tenants/{tenant}", all);
  });
  raw_client c = connect();
  EXPECT_EQ(c.get("/tenants/blue").body, "tenant blue");
  EXPECT_EQ(c.get("/tenants/blue/accounts/7").body, "account blue 7");
}

TEST_F(mounting, a_conflict_adds_nothing) {
  http::server s(system_, on_free_port());
  s.get("/api/{other}", saying("other"));
  EXPECT_THAT(refusal_of([&] { s.mount("/api", accounts()); }),
              HasSubstr("route \"/api/{id}\": the route \"/api/{other}\" has the same paths"));
  EXPECT_EQ(to_string(s.routes()), "GET /api/{other}");
  s.mount("/v1", accounts());
  EXPECT_THAT(refusal_of([&] { s.mount("/v1", accounts()); }),
              HasSubstr("GET has a handler already"));
  EXPECT_THAT(refusal_of([&] { s.mount("/{id}", accounts()); }),
              HasSubstr("two parameters have the name \"id\""));
  folder some;
  http::routes with_files;
  with_files.get("/x", saying("x"));
  with_files.files("/", some.path());
  EXPECT_THAT(refusal_of([&] { s.mount("/{tenant}", with_files); }),
              HasSubstr("the prefix of files() must not contain parameters"));
  EXPECT_EQ(s.routes().size(), 5u) << to_string(s.routes());
}

TEST_F(mounting, lists_all_routes_in_one_place) {
  folder some;
  http::server s(system_, on_free_port());
  s.metrics();
  s.health();
  s.files("/static", some.path());
  s.websocket<echo>("/chat");
  s.post("/accounts", saying("new"));
  s.get("/accounts", saying("all"));
  s.resource("/page", "text/html", "<p>");
  EXPECT_THAT(s.routes(), ElementsAre(route_entry{"GET", "/accounts", kind::route},
                                      route_entry{"POST", "/accounts", kind::route},
                                      route_entry{"GET", "/chat", kind::websocket},
                                      route_entry{"GET", "/healthz", kind::route},
                                      route_entry{"GET", "/metrics", kind::metrics},
                                      route_entry{"GET", "/page", kind::resource},
                                      route_entry{"GET", "/static/", kind::files}));
  EXPECT_EQ(to_string(s.routes()),
            "GET /accounts, POST /accounts, GET /chat (websocket), GET /healthz, GET /metrics "
            "(metrics), GET /page (resource), GET /static/ (files)");
  s.start();
  EXPECT_EQ(s.routes().size(), 7u);
  EXPECT_THROW(s.mount("/v1", accounts()), std::logic_error);
}

}  // namespace
}  // namespace troupe::http::test
