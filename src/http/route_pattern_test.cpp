// SPDX-License-Identifier: Apache-2.0

#include "route_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace troupe::http::detail {
namespace {

using kind = route_pattern::kind;
using testing::HasSubstr;

template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "nothing";
}
std::string refusal_of_path(std::string path) {
  return refusal_of([&] { (void)route_pattern::parse(std::move(path)); });
}

TEST(route_pattern, consists_of_literals_parameters_and_a_rest) {
  const route_pattern all = route_pattern::parse("/accounts/{id}/files/{rest...}");
  ASSERT_EQ(all.segments.size(), 4u);
  EXPECT_EQ(all.segments[0].is, kind::literal);
  EXPECT_EQ(all.segments[0].text, "accounts");
  EXPECT_EQ(all.segments[1].is, kind::parameter);
  EXPECT_EQ(all.segments[1].text, "id");
  EXPECT_EQ(all.segments[3].is, kind::rest);
  EXPECT_EQ(all.segments[3].text, "rest");
  EXPECT_EQ(all.find("id"), 1u);
  EXPECT_EQ(all.find("accounts"), all.segments.size()) << "a literal is no name";
  EXPECT_TRUE(all.has_parameters());
  EXPECT_TRUE(all.ends_with_rest());
  EXPECT_FALSE(route_pattern::parse("/a//b/").has_parameters());
  EXPECT_EQ(route_pattern::parse("/a//b/").segments.size(), 4u);
}

TEST(route_pattern, a_parameter_is_a_whole_segment) {
  for (const char* path :
       {"/a{id}", "/{id}.json", "/{a}{b}", "/{id", "/id}", "/{{id}}", "/{", "/}"}) {
    EXPECT_NE(refusal_of_path(path), "nothing") << path;
  }
  EXPECT_THAT(refusal_of_path("/files/{id}.json"),
              HasSubstr("route \"/files/{id}.json\": \"{id}.json\" is only partly a parameter"));
}

TEST(route_pattern, names_are_identifiers_and_unique) {
  for (const char* path :
       {"/{}", "/{...}", "/{1st}", "/{a-b}", "/{a b}", "/{\xc3\xa4}", "/{a..}"}) {
    EXPECT_THAT(refusal_of_path(path), HasSubstr("is not a name of a parameter")) << path;
  }
  EXPECT_EQ(refusal_of_path("/{_a1}/{A}"), "nothing");
  EXPECT_THAT(refusal_of_path("/a/{id}/b/{id}"), HasSubstr("two parameters have the name \"id\""));
  EXPECT_THAT(refusal_of_path("/a/{id}/b/{id...}"),
              HasSubstr("two parameters have the name \"id\""));
}

TEST(route_pattern, a_rest_is_at_the_end) {
  EXPECT_THAT(refusal_of_path("/{rest...}/a"),
              HasSubstr("{rest...} stands for the rest of a path, so it must be at the end"));
  EXPECT_THAT(refusal_of_path("/{rest...}/"), HasSubstr("must be at the end"));
}

TEST(route_pattern, has_a_maximum_of_segments_if_it_has_parameters) {
  std::string path;
  for (std::size_t i = 1; i < route_pattern::segments_max; ++i) path += "/a";
  EXPECT_EQ(refusal_of_path(path + "/{id}"), "nothing");
  EXPECT_THAT(refusal_of_path(path + "/a/{id}"),
              HasSubstr("it has 33 segments: a path with parameters has at most 32"));
  EXPECT_EQ(refusal_of_path(path + "/a/a"), "nothing") << "a literal path is compared as a whole";
}

TEST(route_pattern, a_prefix_of_files_has_no_parameters) {
  EXPECT_EQ(route_pattern::parse_prefix("/a").text, "/a/");
  EXPECT_EQ(route_pattern::parse_prefix("/a/").segments.size(), 1u);
  EXPECT_EQ(route_pattern::parse_prefix("/").segments.size(), 0u);
  EXPECT_THAT(refusal_of([] { (void)route_pattern::parse_prefix("/{a}/b"); }),
              HasSubstr("the prefix of files() must not contain parameters"));
}

TEST(route_pattern, a_mounted_path_begins_with_its_prefix) {
  EXPECT_EQ(mounted_path("/api", "/a/{id}"), "/api/a/{id}");
  EXPECT_EQ(mounted_path("/api", "/"), "/api");
  EXPECT_EQ(mounted_path("/", "/a"), "/a");
  EXPECT_EQ(mounted_path("/", "/"), "/");
  const auto refused = [](std::string_view prefix) {
    return refusal_of([&] { (void)mounted_path(prefix, "/a"); });
  };
  EXPECT_THAT(refused("api"), HasSubstr("must begin with a slash"));
  EXPECT_THAT(refused("/api/"), HasSubstr("must not end with a slash"));
  EXPECT_THAT(refused("/api/{rest...}"), HasSubstr("must not end with {rest...}"));
}

}  // namespace
}  // namespace troupe::http::detail
