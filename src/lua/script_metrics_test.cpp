// SPDX-License-Identifier: Apache-2.0

#include "script_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace troupe::lua::detail {
namespace {

using http::figure_type;
using outcome = script_metrics::declared::outcome;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const http::figure_family* named(const std::vector<http::figure_family>& all,
                                 const std::string& name) {
  for (const auto& each : all) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

TEST(script_metrics, applications_are_told_apart_by_a_label) {
  script_metrics m;
  const auto of_a = m.declare("a", "hits", figure_type::counter, "Hits.", {}, 10);
  const auto of_b = m.declare("b", "hits", figure_type::counter, "", {}, 10);
  EXPECT_EQ(m.declare("a", "hits", figure_type::counter, "", {}, 1).id, of_a.id);
  EXPECT_TRUE(m.add(of_a.id, "a", {}, 2, 10));
  EXPECT_TRUE(m.add(of_a.id, "a", {}, 1.5, 10));
  EXPECT_TRUE(m.add(of_b.id, "b", {{"kind", "x"}}, 1, 10));
  const auto all = m.figures();
  const auto* const hits = named(all, "troupe_app_hits_total");
  ASSERT_NE(hits, nullptr);
  EXPECT_EQ(hits->help, "Hits.");
  ASSERT_EQ(hits->figures.size(), 2u);
  EXPECT_THAT(hits->figures[0].labels, ElementsAre(Pair("application", "a")));
  EXPECT_EQ(hits->figures[0].value, 3.5);
  EXPECT_THAT(hits->figures[1].labels, ElementsAre(Pair("application", "b"), Pair("kind", "x")));
}

TEST(script_metrics, a_name_has_one_type) {
  script_metrics m;
  EXPECT_EQ(m.declare("a", "n", figure_type::gauge, "", {}, 10).what, outcome::done);
  const auto other = m.declare("b", "n", figure_type::counter, "", {}, 10);
  EXPECT_EQ(other.what, outcome::another_type);
  EXPECT_EQ(other.type, figure_type::gauge);
  EXPECT_EQ(m.declare("a", "h", figure_type::histogram, "", {1, 2}, 10).what, outcome::done);
  EXPECT_EQ(m.declare("b", "h", figure_type::histogram, "", {1}, 10).what, outcome::other_buckets);
}

TEST(script_metrics, a_histogram_counts_what_is_at_most_a_bucket) {
  script_metrics m;
  const auto h = m.declare("a", "wait", figure_type::histogram, "", {1, 2}, 10).id;
  for (const double v : {0.5, 1.0, 1.5, 2.5}) EXPECT_TRUE(m.observe(h, "a", {}, v, 10));
  const auto all = m.figures();
  const http::figure& f = named(all, "troupe_app_wait")->figures.at(0);
  EXPECT_EQ(f.count, 4u);
  EXPECT_EQ(f.value, 5.5);
  ASSERT_EQ(f.buckets.size(), 2u);
  EXPECT_EQ(f.buckets[0].count, 2u);
  EXPECT_EQ(f.buckets[1].count, 3u);
}

TEST(script_metrics, there_are_so_many_for_an_application_and_no_more) {
  script_metrics m;
  const auto g = m.declare("a", "g", figure_type::gauge, "", {}, 3).id;
  EXPECT_TRUE(m.set(g, "a", {{"n", "1"}}, 1, 3));
  EXPECT_TRUE(m.set(g, "a", {{"n", "2"}}, 2, 3));
  EXPECT_FALSE(m.set(g, "a", {{"n", "3"}}, 3, 3));
  EXPECT_TRUE(m.set(g, "a", {{"n", "1"}}, 4, 3));
  EXPECT_EQ(m.declare("a", "other", figure_type::gauge, "", {}, 3).what, outcome::too_many);
  const auto h = m.declare("b", "h", figure_type::histogram, "", {1, 2}, 4).id;
  EXPECT_FALSE(m.observe(h, "b", {}, 1, 4));
  EXPECT_TRUE(m.observe(h, "b", {}, 1, 5));
  const auto all = m.figures();
  const auto* const dropped = named(all, "troupe_application_metrics_dropped_total");
  EXPECT_EQ(dropped->figures.at(0).value, 2);
  EXPECT_EQ(dropped->figures.at(1).value, 1);
  EXPECT_EQ(named(all, "troupe_app_g")->figures.at(0).value, 4);
}

TEST(script_metrics, names_are_checked) {
  for (const char* name : {"a", "hits_of_2"}) EXPECT_TRUE(script_metrics::is_name(name)) << name;
  for (const char* name :
       {"", "2a", "_a", "A", "a-b", "a b", "hits_total", "x_count", "x_sum", "x_bucket"}) {
    EXPECT_FALSE(script_metrics::is_name(name)) << name;
  }
  EXPECT_FALSE(script_metrics::is_name(std::string(65, 'a')));
  EXPECT_TRUE(script_metrics::is_label("room_count"));
  for (const char* name : {"le", "application", "", "9"}) {
    EXPECT_FALSE(script_metrics::is_label(name)) << name;
  }
}

TEST(script_metrics, nothing_is_shown_of_what_has_not_been_counted) {
  EXPECT_THAT(script_metrics().figures(), IsEmpty());
}

TEST(script_metrics, a_stampede_is_counted_right) {
  script_metrics m;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&m, t] {
      const std::string application = t % 2 == 0 ? "a" : "b";
      for (int i = 0; i < 2'000; ++i) {
        const auto c = m.declare(application, "hits", figure_type::counter, "", {}, 100).id;
        m.add(c, application, {{"n", std::to_string(i % 10)}}, 1, 100);
        if (i % 100 == 0) {
          EXPECT_LE(m.figures().size(), 2u);
        }
      }
    });
  }
  threads.clear();
  double sum = 0;
  const auto all = m.figures();
  for (const auto& f : named(all, "troupe_app_hits_total")->figures) sum += f.value;
  EXPECT_EQ(sum, 8'000);
}

}  // namespace
}  // namespace troupe::lua::detail
