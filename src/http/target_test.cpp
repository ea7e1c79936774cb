// SPDX-License-Identifier: Apache-2.0

#include "target.hpp"

#include <gtest/gtest.h>

namespace troupe::http::detail {
namespace {

TEST(percent_decoded, takes_escapes_apart) {
  EXPECT_EQ(percent_decoded("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(percent_decoded("%c3%A4"), "\xc3\xa4");
  EXPECT_EQ(percent_decoded(""), "");
}

TEST(percent_decoded, refuses_broken_escapes) {
  EXPECT_EQ(percent_decoded("%"), std::nullopt);
  EXPECT_EQ(percent_decoded("a%2"), std::nullopt);
  EXPECT_EQ(percent_decoded("%zz"), std::nullopt);
  EXPECT_EQ(percent_decoded("%-1"), std::nullopt);
}

TEST(target, path_and_query_are_separated) {
  const auto t = parse_target("/rooms/a%20b?x=1%20&y=2");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->path, "/rooms/a b");
  EXPECT_EQ(t->query, "x=1%20&y=2");
}

TEST(target, the_sent_path_is_kept_if_it_has_escapes) {
  EXPECT_EQ(parse_target("/a%2Fb/c?x=%20")->sent_path, "/a%2Fb/c");
  EXPECT_EQ(parse_target("http://here/a%2Fb")->sent_path, "/a%2Fb");
  EXPECT_EQ(parse_target("/a/b?x=%20")->sent_path, "");
  EXPECT_EQ(parse_target("http://here?x=%20")->sent_path, "");
}

TEST(target, an_escaped_question_mark_belongs_to_the_path) {
  const auto t = parse_target("/what%3Fnow");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->path, "/what?now");
  EXPECT_EQ(t->query, "");
}

TEST(target, the_absolute_form_loses_its_authority) {
  EXPECT_EQ(parse_target("http://example.org/a")->path, "/a");
  EXPECT_EQ(parse_target("http://example.org")->path, "/");
  const auto t = parse_target("http://example.org?x=1");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->path, "/");
  EXPECT_EQ(t->query, "x=1");
}

TEST(target, the_absolute_form_names_its_authority) {
  EXPECT_EQ(parse_target("http://example.org:80/a")->authority, "example.org:80");
  EXPECT_EQ(parse_target("http://[::1]")->authority, "[::1]");
  EXPECT_EQ(parse_target("/a")->authority, "");
  EXPECT_FALSE(parse_target("http://user@example.org/a"));
  EXPECT_FALSE(parse_target("http://:80/a"));
}

TEST(target, characters_that_are_invalid_in_urls_are_refused) {
  EXPECT_FALSE(parse_target("/a#b?c"));
  EXPECT_FALSE(parse_target("/a?b#c"));
  EXPECT_FALSE(parse_target("/\xc3\xa4"));
  EXPECT_FALSE(parse_target("/a?\xff"));
  EXPECT_FALSE(parse_target("/a b"));
}

TEST(target, an_absolute_url_without_scheme_or_host_is_refused) {
  EXPECT_FALSE(parse_target("a?b=http://example.org/c"));
  EXPECT_FALSE(parse_target("://example.org/a"));
  EXPECT_FALSE(parse_target("http:///a"));
  EXPECT_FALSE(parse_target("http://?a"));
  EXPECT_FALSE(parse_target("http://"));
}

TEST(target, an_invalid_path_is_refused) {
  EXPECT_FALSE(parse_target(""));
  EXPECT_FALSE(parse_target("*"));
  EXPECT_FALSE(parse_target("a"));
  EXPECT_FALSE(parse_target("/a%00b"));
  EXPECT_FALSE(parse_target("/a%0d%0aSet-Cookie:x"));
  EXPECT_FALSE(parse_target("/a%"));
}

}  // namespace
}  // namespace troupe::http::detail
