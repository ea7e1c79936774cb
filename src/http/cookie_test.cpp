// SPDX-License-Identifier: Apache-2.0

#include "cookie.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/http/cookie.hpp>

#include "request_access.hpp"
#include "test_server.hpp"

namespace troupe::http::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using same_site = set_cookie::same_site;

request with_cookies(const std::vector<std::string>& lines) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const std::string& each : lines) headers.emplace_back("Cookie", each);
  return detail::request_access::make("GET", "/", headers, "peer", false);
}
std::optional<std::string_view> cookie_in(const std::string& line, std::string_view name) {
  static request asked;  // the views refer to it
  asked = with_cookies({line});
  return asked.cookie(name);
}

TEST(cookie, is_found_by_its_name) {
  EXPECT_EQ(cookie_in("a=1; b=2; c=3", "b"), "2");
  EXPECT_EQ(cookie_in("a=1; b=2", "B"), std::nullopt) << "case makes a difference";
  EXPECT_EQ(cookie_in("ab=1; b=2", "b"), "2");
  EXPECT_EQ(cookie_in("a=b=c", "a"), "b=c");
  EXPECT_EQ(cookie_in("a=", "a"), "");
  EXPECT_EQ(cookie_in("a=1;b=2", "b"), "2");
  EXPECT_EQ(cookie_in("", "a"), std::nullopt);
  EXPECT_EQ(request().cookie("a"), std::nullopt);
}

TEST(cookie, the_first_of_several_is_returned) {
  EXPECT_EQ(cookie_in("a=1; a=2", "a"), "1");
  const request asked = with_cookies({"b=1", "a=2; b=3", "a=4"});
  EXPECT_EQ(asked.cookie("a"), "2");
  EXPECT_EQ(asked.cookie("b"), "1");
}

TEST(cookie, quotes_belong_to_the_value) {
  EXPECT_EQ(cookie_in("a=\"1\"", "a"), "\"1\"");
  EXPECT_EQ(cookie_in("a=\"\"", "a"), "\"\"");
}

TEST(cookie, a_malformed_pair_is_skipped_and_hides_no_other) {
  for (const char* value :
       {"x y", "x,y", "x\\y", "\"x", "x\"", "\"", "x\"y\"", "\"a\"b\"", "\xc3\xa4"}) {
    EXPECT_EQ(cookie_in("a=" + std::string{value} + "; b=1", "a"), std::nullopt) << value;
    EXPECT_EQ(cookie_in("a=" + std::string{value} + "; b=1; a=2", "b"), "1") << value;
    EXPECT_EQ(cookie_in("a=" + std::string{value} + "; b=1; a=2", "a"), "2") << value;
  }
  EXPECT_EQ(cookie_in("a; =1; b=2;; ;a =3; b", "a"), std::nullopt);
  EXPECT_EQ(cookie_in("a; =1; b=2;; ;a =3; b", "b"), "2");
  EXPECT_EQ(cookie_in("=1", ""), std::nullopt);
  EXPECT_EQ(cookie_in("a b=1", "a b"), std::nullopt) << "no cookie has this name";
}

TEST(set_cookie, has_careful_defaults) {
  EXPECT_EQ((set_cookie{.name = "a", .value = "1"}.to_string()),
            "a=1; Path=/; SameSite=Lax; HttpOnly; Secure");
}

TEST(set_cookie, writes_each_attribute) {
  const set_cookie all{.name = "a",
                       .value = "x=y",
                       .max_age = 2h,
                       .path = "/b c",
                       .domain = "example.org",
                       .site = same_site::strict,
                       .http_only = false,
                       .secure = false};
  EXPECT_EQ(all.to_string(), "a=x=y; Max-Age=7200; Path=/b c; Domain=example.org; SameSite=Strict");
  EXPECT_EQ((set_cookie{.name = "a", .max_age = 0s, .site = same_site::none}.to_string()),
            "a=; Max-Age=0; Path=/; SameSite=None; HttpOnly; Secure");
  EXPECT_THAT((set_cookie{.name = "a", .max_age = -5s}.to_string()), HasSubstr("Max-Age=0;"));
}

std::string refusal_of(const set_cookie& one) {
  response r;
  try {
    one.add_to(r);
  } catch (const std::invalid_argument& wrong) {
    EXPECT_TRUE(r.headers.empty());
    return wrong.what();
  }
  return "nothing";
}

TEST(set_cookie, refuses_what_a_client_could_misread) {
  for (const char* name : {"", "a b", "a=b", "a;b", "a\r\nX: y", "\xc3\xa4"}) {
    EXPECT_THAT(refusal_of({.name = name}), HasSubstr("the name is not a token")) << name;
  }
  for (const char* value :
       {"a b", "a;b", "a,b", "\"a\"", "a\\b", "a\r\nX: y", "\xc3\xa4", "\x7f"}) {
    EXPECT_THAT(refusal_of({.name = "a", .value = value}), HasSubstr("base64url")) << value;
  }
  EXPECT_THAT(refusal_of({.name = "a", .value = std::string("a\0b", 3)}), HasSubstr("base64url"));
  for (const char* path : {"", "a", "/a;Domain=b", "/a\r\nX: y", "/\xc3\xa4"}) {
    EXPECT_THAT(refusal_of({.name = "a", .path = path}), HasSubstr("must begin with a slash"));
  }
  for (const char* domain : {".a", "a.", "a..b", "a b", "a;b", "-a", "a\r\nX: y", "[::1]"}) {
    EXPECT_THAT(refusal_of({.name = "a", .domain = domain}), HasSubstr("must be a host name"));
  }
  EXPECT_EQ(refusal_of({.name = "a", .path = "/a b", .domain = "a-b.example"}), "nothing");
}

TEST(set_cookie, has_limits) {
  EXPECT_EQ(refusal_of({.name = "a", .value = std::string(4095, 'x')}), "nothing");
  EXPECT_THAT(refusal_of({.name = "a", .value = std::string(4096, 'x')}),
              HasSubstr("name and value have 4097 bytes: at most 4096 are allowed"));
  EXPECT_EQ(refusal_of({.name = "a", .path = "/" + std::string(1023, 'x')}), "nothing");
  EXPECT_NE(refusal_of({.name = "a", .path = "/" + std::string(1024, 'x')}), "nothing");
  EXPECT_NE(refusal_of({.name = "a", .domain = std::string(1025, 'x')}), "nothing");
}

TEST(set_cookie, refuses_what_a_client_would_ignore) {
  EXPECT_THAT(refusal_of({.name = "a", .site = same_site::none, .secure = false}),
              HasSubstr("same_site none that is not secure"));
  for (const char* name : {"__Host-a", "__Secure-a", "__host-a", "__SECURE-a"}) {
    EXPECT_EQ(refusal_of({.name = name}), "nothing") << name;
    EXPECT_THAT(refusal_of({.name = name, .secure = false}), HasSubstr("that is not secure"));
  }
  EXPECT_THAT(refusal_of({.name = "__Host-a", .path = "/a"}), HasSubstr("a path other than /"));
  EXPECT_THAT(refusal_of({.name = "__hOST-a", .domain = "a.example"}), HasSubstr("has a domain"));
  EXPECT_EQ(refusal_of({.name = "__Secure-a", .path = "/a", .domain = "a.example"}), "nothing");
}

using cookies = served;

TEST_F(cookies, go_to_the_client_and_come_back) {
  start(on_free_port(), [](http::server& s) {
    s.get("/", [](const request& r) {
      response made = response::text(std::string{r.cookie("seen").value_or("never")});
      set_cookie{.name = "seen", .value = "now"}.add_to(made);
      set_cookie{.name = "old", .max_age = 0s}.add_to(made);
      return made;
    });
  });
  raw_client c = connect();
  c.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string head = c.read_until("\r\n\r\n");
  EXPECT_THAT(head,
              HasSubstr("\r\nSet-Cookie: seen=now; Path=/; SameSite=Lax; HttpOnly; Secure\r\n"));
  EXPECT_THAT(
      head,
      HasSubstr("\r\nSet-Cookie: old=; Max-Age=0; Path=/; SameSite=Lax; HttpOnly; Secure\r\n"));
  EXPECT_EQ(c.read_exactly(5), "never");
  EXPECT_EQ(c.get("/", "Cookie: other=1; seen=now\r\n").body, "now");
}

}  // namespace
}  // namespace troupe::http::test
