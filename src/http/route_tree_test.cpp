// SPDX-License-Identifier: Apache-2.0

#include "route_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "path_segments.hpp"
#include "target.hpp"

namespace troupe::http::detail {
namespace {

using kind = route_pattern::kind;

/// A tree whose values are the indexes of its patterns. A pattern that ends with a slash and an
/// asterisk stands for files.
class patterns {
 public:
  explicit patterns(std::vector<std::string> all) : all_(std::move(all)) {
    for (std::uint32_t i = 0; i < all_.size(); ++i) {
      const std::string& one = all_[i];
      if (one.ends_with("/*")) {
        tree_.insert_files(route_pattern::parse_prefix(one.substr(0, one.size() - 1)), i);
      } else {
        tree_.insert(route_pattern::parse(one), i);
      }
    }
  }

  std::string match(std::string_view target) const {
    const auto parsed = parse_target(target);
    EXPECT_TRUE(parsed) << target;
    const route_tree::found found = tree_.match(parsed->path, parsed->sent_path);
    if (found.value == route_tree::none) return "nothing";
    EXPECT_EQ(found.is_files, all_[found.value].ends_with("/*"));
    return all_[found.value];
  }
  const route_tree& tree() const { return tree_; }

 private:
  std::vector<std::string> all_;
  route_tree tree_;
};

TEST(route_tree, without_patterns_matches_nothing) {
  EXPECT_EQ(patterns({}).match("/"), "nothing");
  EXPECT_EQ(route_tree().match_files("/a"), route_tree::none);
}

TEST(route_tree, a_parameter_matches_one_segment_that_is_not_empty) {
  const patterns all({"/accounts/{id}", "/accounts/{id}/entries/{entry}"});
  EXPECT_EQ(all.match("/accounts/7"), "/accounts/{id}");
  EXPECT_EQ(all.match("/accounts/7/entries/8"), "/accounts/{id}/entries/{entry}");
  for (const char* other : {"/", "/accounts", "/accounts/", "/accounts/7/", "/accounts//entries/8",
                            "/accounts/7/entries", "/accounts/7/entries/", "/accounts/7/other/8",
                            "/accounts/7/entries/8/9", "/Accounts/7", "//accounts/7"}) {
    EXPECT_EQ(all.match(other), "nothing") << other;
  }
}

TEST(route_tree, a_rest_matches_one_segment_or_more_which_may_be_empty) {
  const patterns all({"/files/{rest...}"});
  EXPECT_EQ(all.match("/files/"), "/files/{rest...}");
  EXPECT_EQ(all.match("/files/a"), "/files/{rest...}");
  EXPECT_EQ(all.match("/files/a/b//c/"), "/files/{rest...}");
  EXPECT_EQ(all.match("/files"), "nothing");
  EXPECT_EQ(all.match("/filesystem"), "nothing");
  EXPECT_EQ(patterns({"/{rest...}"}).match("/"), "/{rest...}");
}

TEST(route_tree, files_match_their_folder_and_everything_below) {
  const patterns all({"/static/*", "/static/more/*"});
  EXPECT_EQ(all.match("/static"), "/static/*");
  EXPECT_EQ(all.match("/static/"), "/static/*");
  EXPECT_EQ(all.match("/static/a/b"), "/static/*");
  EXPECT_EQ(all.match("/static/more"), "/static/more/*");
  EXPECT_EQ(all.match("/static/more/a"), "/static/more/*");
  EXPECT_EQ(all.match("/statics"), "nothing");
  EXPECT_EQ(patterns({"/*"}).match("/"), "/*");
  EXPECT_EQ(patterns({"/*"}).match("/a/b"), "/*");
}

TEST(route_tree, a_literal_comes_before_a_parameter_before_a_rest_before_files) {
  const patterns all({"/a/{x}", "/a/b/{y}", "/a/{rest...}", "/{any}/b/{y}", "/*"});
  EXPECT_EQ(all.match("/a/b"), "/a/{x}");
  EXPECT_EQ(all.match("/a/b/c"), "/a/b/{y}");
  EXPECT_EQ(all.match("/a/c/c"), "/a/{rest...}");
  EXPECT_EQ(all.match("/a/b/c/d"), "/a/{rest...}");
  EXPECT_EQ(all.match("/c/b/d"), "/{any}/b/{y}");
  EXPECT_EQ(all.match("/c/c/d"), "/*");
}

TEST(route_tree, goes_back_where_a_literal_leads_nowhere) {
  const patterns all({"/a/b/c/{x}", "/a/{p}/d/{x}", "/{q}/b/e/{x}", "/{q}/{p}/f/{x}"});
  EXPECT_EQ(all.match("/a/b/c/1"), "/a/b/c/{x}");
  EXPECT_EQ(all.match("/a/b/d/1"), "/a/{p}/d/{x}");
  EXPECT_EQ(all.match("/a/b/e/1"), "/{q}/b/e/{x}");
  EXPECT_EQ(all.match("/a/b/f/1"), "/{q}/{p}/f/{x}");
  EXPECT_EQ(all.match("/a/b/g/1"), "nothing");
}

TEST(route_tree, an_escaped_slash_does_not_separate) {
  const patterns all({"/files/{name}", "/files/{folder}/{name}", "/x/y/{z}"});
  EXPECT_EQ(all.match("/files/a%2Fb"), "/files/{name}");
  EXPECT_EQ(all.match("/files/a/b"), "/files/{folder}/{name}");
  EXPECT_EQ(all.match("/files%2Fa"), "nothing");
  EXPECT_EQ(all.match("/%66iles/a"), "/files/{name}") << "other escapes make no difference";
  EXPECT_EQ(all.match("/files/%2F"), "/files/{name}");
  EXPECT_EQ(all.match("/x%2Fy/z"), "nothing");
}

TEST(route_tree, the_longest_prefix_of_files_counts_where_escaped_slashes_separate) {
  const patterns all({"/static/*", "/static/more/*", "/static/{x}/b"});
  EXPECT_EQ(all.tree().match_files("/static/more/a"), 1u);
  EXPECT_EQ(all.tree().match_files("/static/moreover"), 0u);
  EXPECT_EQ(all.tree().match_files("/other"), route_tree::none);
}

TEST(route_tree, finds_patterns_that_have_the_same_paths) {
  const patterns all({"/a/{x}", "/a/{rest...}", "/a/b/*"});
  EXPECT_EQ(all.tree().find(route_pattern::parse("/a/{other}")), 0u);
  EXPECT_EQ(all.tree().find(route_pattern::parse("/a/{other...}")), 1u);
  EXPECT_EQ(all.tree().find(route_pattern::parse("/a/{x}/b")), route_tree::none);
  EXPECT_EQ(all.tree().find_files(route_pattern::parse("/a/b/{x...}")), 2u);
  EXPECT_EQ(all.tree().find_rest(route_pattern::parse_prefix("/a")), 1u);
}

// ── Against a second implementation ───────────────────────────────────────────────────────────

bool matches(const route_pattern& p, std::size_t at, const std::vector<std::string_view>& path) {
  if (p.segments.size() == at) return path.size() == at;
  if (path.size() == at) return false;
  switch (p.segments[at].is) {
    case kind::literal:
      return path[at] == p.segments[at].text && matches(p, at + 1, path);
    case kind::parameter:
      return !path[at].empty() && matches(p, at + 1, path);
    case kind::rest:
      return true;
  }
  return false;
}

// "0" for a literal, "1" for a parameter, "2" for a rest: the first in alphabetical order wins.
std::string rank(const route_pattern& p) {
  std::string all;
  for (const route_pattern::segment& s : p.segments) all += static_cast<char>('0' + int(s.is));
  return all;
}

TEST(route_tree, finds_what_a_look_at_each_pattern_finds) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const auto choose = [&](std::size_t n) { return random() % n; };
    const std::vector<std::string> words{"a", "b", "ab", ""};
    std::vector<route_pattern> all;
    route_tree tree;
    for (std::size_t n = 1 + choose(12); n > 0; --n) {
      std::string text;
      const std::size_t depth = 1 + choose(5);
      for (std::size_t i = 0; i < depth; ++i) {
        const std::string name = "p" + std::to_string(i);
        if (i + 1 == depth && choose(4) == 0) {
          text += "/{" + name + "...}";
        } else {
          text += choose(2) == 0 ? "/{" + name + "}" : "/" + words[choose(words.size())];
        }
      }
      route_pattern one = route_pattern::parse(text);
      if (tree.find(one) != route_tree::none) continue;
      tree.insert(one, static_cast<std::uint32_t>(all.size()));
      all.push_back(std::move(one));
    }
    for (int i = 0; i < 50; ++i) {
      std::string path;
      for (std::size_t n = 1 + choose(6); n > 0; --n) path += "/" + words[choose(words.size())];
      std::vector<std::string_view> segments;
      path_segments::segment one;
      for (path_segments of(path, {}); of.next(one);) {
        segments.push_back(std::string_view{path}.substr(one.begin, one.size));
      }
      const route_pattern* best = nullptr;
      for (const route_pattern& p : all) {
        if (!matches(p, 0, segments)) continue;
        if (best == nullptr || rank(p) < rank(*best)) best = &p;
      }
      const route_tree::found found = tree.match(path, {});
      ASSERT_EQ(found.value == route_tree::none ? "nothing" : all[found.value].text,
                best == nullptr ? "nothing" : best->text)
          << "seed " << seed << ", path " << path;
    }
  }
}

// ── Bounds ────────────────────────────────────────────────────────────────────────────────────

TEST(route_tree, long_paths_are_read_only_as_deep_as_the_patterns_go) {
  const patterns all({"/a/{x}/b", "/a/{x}/{y}/{rest...}"});
  std::string path;
  for (int i = 0; i < 10'000; ++i) path += "/a";
  EXPECT_EQ(all.match(path), "/a/{x}/{y}/{rest...}");
  EXPECT_LE(all.tree().match(path, {}).visited, 5u);
  EXPECT_EQ(patterns({"/a/{x}/b"}).tree().match(path, {}).visited, 3u);
  EXPECT_EQ(all.match(std::string(10'000, '/')), "nothing");
  EXPECT_EQ(all.tree().match(std::string(10'000, '/'), {}).visited, 1u);
}

// The worst case: at each level both a literal and a parameter match, and only the last level
// decides. A node is nevertheless visited at most once.
TEST(route_tree, visits_each_node_at_most_once) {
  std::vector<std::string> all;
  constexpr std::size_t depth = 8;
  for (std::size_t bits = 0; bits < 1u << depth; ++bits) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) {
      text += (bits >> i & 1) != 0 ? "/{p" + std::to_string(i) + "}" : "/a";
    }
    all.push_back(text + "/end/{x}");
  }
  const patterns every(all);
  std::string path;
  for (std::size_t i = 0; i < depth; ++i) path += "/a";
  // 1 + 2 + 4 + … + 2^8 nodes for the levels, and a node for each "end".
  EXPECT_EQ(every.tree().match(path + "/end/", {}).visited, (2u << depth) - 1 + (1u << depth));
  EXPECT_EQ(every.tree().match(path + "/other", {}).visited, (2u << depth) - 1);
  EXPECT_EQ(every.match(path + "/end/1"), "/a/a/a/a/a/a/a/a/end/{x}");
}

TEST(route_tree, the_number_of_patterns_makes_no_difference) {
  std::vector<std::string> many;
  for (int i = 0; i < 10'000; ++i) {
    many.push_back("/service" + std::to_string(i) + "/{id}/entries/{entry}");
  }
  const patterns all(many);
  const patterns one({many[5'000]});
  EXPECT_EQ(all.match("/service5000/7/entries/8"), many[5'000]);
  EXPECT_EQ(all.tree().match("/service5000/7/entries/8", {}).visited,
            one.tree().match("/service5000/7/entries/8", {}).visited);
}

}  // namespace
}  // namespace troupe::http::detail
