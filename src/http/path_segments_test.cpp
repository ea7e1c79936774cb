// SPDX-License-Identifier: Apache-2.0

#include "path_segments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe::http::detail {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> segments_of(std::string_view decoded, std::string_view sent = {}) {
  std::vector<std::string> all;
  path_segments::segment one;
  for (path_segments of(decoded, sent); of.next(one);) {
    all.emplace_back(decoded.substr(one.begin, one.size));
  }
  return all;
}

TEST(path_segments, are_separated_by_slashes) {
  EXPECT_THAT(segments_of("/accounts/7"), ElementsAre("accounts", "7"));
  EXPECT_THAT(segments_of("/"), ElementsAre(""));
  EXPECT_THAT(segments_of("/a/"), ElementsAre("a", ""));
  EXPECT_THAT(segments_of("//a"), ElementsAre("", "a"));
  EXPECT_THAT(segments_of("////"), ElementsAre("", "", "", ""));
  EXPECT_THAT(segments_of(""), IsEmpty());
}

TEST(path_segments, keep_the_slashes_that_were_sent_as_escapes) {
  EXPECT_THAT(segments_of("/a/b/c", "/a%2Fb/c"), ElementsAre("a/b", "c"));
  EXPECT_THAT(segments_of("/a/b/c", "/a/b%2fc"), ElementsAre("a", "b/c"));
  EXPECT_THAT(segments_of("//", "/%2F"), ElementsAre("/"));
  EXPECT_THAT(segments_of("/a/", "/%61/"), ElementsAre("a", ""));
  EXPECT_THAT(segments_of("/a%2Fb/c", "/a%252Fb/c"), ElementsAre("a%2Fb", "c"));
}

}  // namespace
}  // namespace troupe::http::detail
