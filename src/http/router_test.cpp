// SPDX-License-Identifier: Apache-2.0

#include "router.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "test_server.hpp"

namespace troupe::http::detail {
namespace {

using testing::HasSubstr;

response hello(const request&) { return response::text("hello"); }

std::unique_ptr<session_port> no_session(websocket) { return nullptr; }

// Returns the message of the exception.
template <class Exception, class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const Exception& wrong) {
    return wrong.what();
  }
  return "nothing";
}

std::string refusal_of_route(std::string method, std::string path) {
  return refusal_of<std::invalid_argument>(
      [&] { router().add(std::move(method), std::move(path), hello); });
}

TEST(router, refuses_a_path_that_no_request_could_have) {
  EXPECT_THAT(refusal_of_route("GET", "/files/*"),
              HasSubstr("route \"/files/*\": a path must not contain '*': write {name...}"));
  EXPECT_THAT(refusal_of_route("GET", "/files/{name}.txt"), HasSubstr("only partly a parameter"));
  EXPECT_THAT(refusal_of_route("GET", "accounts"), HasSubstr("must begin with a slash"));
  EXPECT_THAT(refusal_of_route("GET", ""), HasSubstr("must begin with a slash"));
  EXPECT_THAT(refusal_of_route("GET", "/a?b=c"), HasSubstr("query"));
  EXPECT_THAT(refusal_of_route("GET", "/a#b"), HasSubstr("fragment"));
  EXPECT_THAT(refusal_of_route("GET", "/a%20b"), HasSubstr("without escapes"));
  EXPECT_THAT(refusal_of_route("GET", "/a\nb"), HasSubstr("control characters"));
  EXPECT_EQ(refusal_of_route("GET", "/a b/100%"), "nothing");
}

TEST(router, refuses_a_method_that_no_request_could_have) {
  EXPECT_THAT(refusal_of_route("get", "/a"), HasSubstr("\"get\" is not a method"));
  EXPECT_THAT(refusal_of_route("GET ", "/a"), HasSubstr("a token in capitals"));
  EXPECT_THAT(refusal_of_route("", "/a"), HasSubstr("is not a method"));
  EXPECT_EQ(refusal_of_route("MKCOL", "/a"), "nothing");
}

TEST(router, refuses_routes_that_exist_already) {
  router one;
  const auto refused = [&](auto... what) {
    return refusal_of<std::invalid_argument>([&] { one.add(std::move(what)...); });
  };
  one.add("GET", "/a", hello);
  one.add("POST", "/a", hello);
  one.add("/a", no_session);
  EXPECT_THAT(refused("GET", "/a", hello), HasSubstr("route \"/a\": GET has a handler already"));
  EXPECT_THAT(refused("/a", resource::of("text/plain", "x")),
              HasSubstr("would hide the resource()"));
  EXPECT_THAT(refused("/a", no_session), HasSubstr("a websocket() exists already"));
  EXPECT_THAT(refused("GET", "/empty", handler{}), HasSubstr("is empty"));

  one.add("/page", resource::of("text/plain", "x"));
  one.add("/page", no_session);  // a page and the WebSocket that it opens
  one.add("POST", "/page", hello);
  EXPECT_THAT(refused("/page", resource::of("text/plain", "x")),
              HasSubstr("a resource() exists already"));
  EXPECT_THAT(refused("HEAD", "/page", hello), HasSubstr("already handles HEAD"));

  const auto files_refused = [&](const char* prefix) {
    return refusal_of<std::invalid_argument>([&] { one.add_files(prefix, "/"); });
  };
  one.add_files("/files", "/");
  EXPECT_THAT(files_refused("/files/"), HasSubstr("files() exist already for this prefix"));
  EXPECT_THAT(refused("GET", "/files/{rest...}", hello),
              HasSubstr("it would hide the files() below \"/files/\""));
  one.add("GET", "/more/{rest...}", hello);
  EXPECT_THAT(
      files_refused("/more"),
      HasSubstr("route \"/more/\": the route \"/more/{rest...}\" would hide these files()"));
}

TEST(router, refuses_other_names_for_the_same_paths) {
  router one;
  one.add("GET", "/accounts/{id}/entries", hello);
  one.add("POST", "/accounts/{id}/entries", hello);
  one.add("GET", "/accounts/{account}/cards", hello);  // other paths
  const auto refused = [&](auto... what) {
    return refusal_of<std::invalid_argument>([&] { one.add(std::move(what)...); });
  };
  const std::string why =
      "http::server: route \"/accounts/{nr}/entries\": the route \"/accounts/{id}/entries\" has "
      "the "
      "same paths and other names: use the same names";
  EXPECT_EQ(refused("PUT", "/accounts/{nr}/entries", hello), why);
  EXPECT_EQ(refused("/accounts/{nr}/entries", no_session), why);
  EXPECT_EQ(refused("/accounts/{nr}/entries", resource::of("text/plain", "x")), why);
  EXPECT_EQ(refusal_of<std::invalid_argument>(
                [&] { one.expect_free_for_metrics("/accounts/{nr}/entries"); }),
            why);
  one.add("GET", "/files/{rest...}", hello);
  EXPECT_THAT(refused("PUT", "/files/{path...}", hello), HasSubstr("/files/{rest...}"));
}

TEST(router, a_refused_route_changes_nothing) {
  router one;
  one.add("GET", "/a/{id}", hello);
  const std::vector<route_entry> before = one.entries();
  EXPECT_THROW(one.add("GET", "/a/{id}", hello), std::invalid_argument);
  EXPECT_THROW(one.add("MKCOL", "/a/{other}", hello), std::invalid_argument);
  EXPECT_THROW(one.add("GET", "/b", handler{}), std::invalid_argument);
  EXPECT_THROW(one.add("/a/{id}", resource::of("text/plain", "x")), std::invalid_argument);
  EXPECT_THROW(one.add_files("/c", "/no/such/folder"), std::system_error);
  EXPECT_EQ(one.entries(), before);
  EXPECT_FALSE(one.knows("MKCOL"));
  EXPECT_EQ(one.find("/b").at, nullptr);
  EXPECT_EQ(one.find("/c/x").files, nullptr);
}

TEST(router, a_path_without_parameters_is_compared_decoded_and_comes_first) {
  router one;
  one.add("GET", "/a/b c", hello);
  one.add("GET", "/a/{x}", hello);
  one.add("GET", "/{x}", hello);
  EXPECT_EQ(one.find("/a/b c", "/a/b%20c").at->pattern.text, "/a/b c");
  EXPECT_EQ(one.find("/a/b c", "/a%2Fb%20c").at->pattern.text, "/a/b c");
  EXPECT_EQ(one.find("/a/b", "/a%2Fb").at->pattern.text, "/{x}");
  EXPECT_EQ(one.find("/a/b").at->pattern.text, "/a/{x}");
}

TEST(router, a_literal_of_files_comes_before_a_parameter) {
  router one;
  one.add_files("/", "/");
  one.add_files("/a/b", "/");
  one.add("GET", "/a/{x}/c", hello);
  EXPECT_EQ(one.find("/a/b/c").files->prefix, "/a/b/");
  EXPECT_EQ(one.find("/a/x/c").at->pattern.text, "/a/{x}/c");
  EXPECT_EQ(one.find("/x").files->prefix, "/");
}

TEST(router, files_see_an_escaped_slash_as_a_slash) {
  router one;
  one.add_files("/a/b", "/");
  EXPECT_EQ(one.find("/a/b/c", "/a%2Fb/c").files->prefix, "/a/b/");
  EXPECT_EQ(one.find("/a/bc", "/a%2Fbc").files, nullptr);
  one.add_files("/", "/");
  EXPECT_EQ(one.find("/a/b/c", "/a%2Fb/c").files->prefix, "/a/b/") << "the longest prefix";
  EXPECT_EQ(one.find("/a/bc", "/a%2Fbc").files->prefix, "/");
}

TEST(router, knows_standard_methods_and_registered_ones) {
  router one;
  EXPECT_TRUE(one.knows("PATCH"));
  EXPECT_FALSE(one.knows("MKCOL"));
  EXPECT_FALSE(one.knows("get"));
  one.add("MKCOL", "/a", hello);
  EXPECT_TRUE(one.knows("MKCOL"));
  EXPECT_EQ(one.allowed(), "MKCOL, OPTIONS");
}

class started_server : public test::served {};

TEST_F(started_server, takes_no_more_routes) {
  start(on_free_port(), [](http::server& s) { s.route("GET", "/a", hello); });
  const std::string too_late = "http::server: routes must be added before start()";
  EXPECT_EQ(refusal_of<std::logic_error>([&] { server_->route("GET", "/b", hello); }), too_late);
  EXPECT_EQ(refusal_of<std::logic_error>([&] { server_->resource("/b", "text/plain", "b"); }),
            too_late);
  EXPECT_EQ(refusal_of<std::logic_error>([&] { server_->files("/b", "/"); }), too_late);
  EXPECT_EQ(refusal_of<std::logic_error>([&] { server_->websocket<test::echo>("/b"); }), too_late);
  EXPECT_EQ(refusal_of<std::logic_error>([&] { server_->start(); }),
            "http::server: start() was called more than once");
  EXPECT_EQ(connect().get("/a").body, "hello");
}

TEST(server_death_test, a_server_that_outlives_its_system_aborts_with_a_message) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        auto on = std::make_unique<troupe::system>(system_options{.workers = 1});
        http::server one(*on, {.port = 0});
        one.start();
        on.reset();
      },
      "http::server\\) outlives its troupe::system: destroy it before the system");
}

}  // namespace
}  // namespace troupe::http::detail
