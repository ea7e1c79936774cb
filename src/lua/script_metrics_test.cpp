// SPDX-License-Identifier: Apache-2.0

#include "script_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "http/metrics.hpp"

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

constexpr script_metrics::quota most(std::size_t figures) {
  return {.figures = figures, .bytes = 100'000};
}

TEST(script_metrics, applications_are_distinguished_by_a_label) {
  script_metrics m;
  const auto of_a = m.declare("a", "hits", figure_type::counter, "Hits.", {}, most(10));
  const auto of_b = m.declare("b", "hits", figure_type::counter, "", {}, most(10));
  EXPECT_EQ(m.declare("a", "hits", figure_type::counter, "", {}, most(1)).id, of_a.id);
  EXPECT_TRUE(m.add(of_a.id, "a", {}, 2, most(10)));
  EXPECT_TRUE(m.add(of_a.id, "a", {}, 1.5, most(10)));
  EXPECT_TRUE(m.add(of_b.id, "b", {{"kind", "x"}}, 1, most(10)));
  const auto all = m.figures();
  const auto* const hits = named(all, "troupe_app_hits_total");
  ASSERT_NE(hits, nullptr);
  EXPECT_EQ(hits->help, "Hits.");
  ASSERT_EQ(hits->figures.size(), 2u);
  EXPECT_THAT(hits->figures[0].labels, ElementsAre(Pair("application", "a")));
  EXPECT_EQ(hits->figures[0].value, 3.5);
  EXPECT_THAT(hits->figures[1].labels, ElementsAre(Pair("application", "b"), Pair("kind", "x")));
}

TEST(script_metrics, a_name_has_one_type_in_an_application) {
  script_metrics m;
  EXPECT_EQ(m.declare("a", "n", figure_type::gauge, "", {}, most(10)).what, outcome::done);
  const auto other = m.declare("a", "n", figure_type::counter, "", {}, most(10));
  EXPECT_EQ(other.what, outcome::another_type);
  EXPECT_EQ(other.type, figure_type::gauge);
  EXPECT_EQ(m.declare("a", "h", figure_type::histogram, "", {1, 2}, most(10)).what, outcome::done);
  EXPECT_EQ(m.declare("a", "h", figure_type::histogram, "", {1}, most(10)).what,
            outcome::other_buckets);
}

TEST(script_metrics, applications_use_one_name_with_different_types_and_buckets) {
  script_metrics m;
  const auto gauge = m.declare("a", "n", figure_type::gauge, "A.", {}, most(10));
  const auto counter = m.declare("b", "n", figure_type::counter, "B.", {}, most(10));
  const auto fine = m.declare("c", "n", figure_type::histogram, "C.", {1, 2}, most(10));
  const auto coarse = m.declare("d", "n", figure_type::histogram, "D.", {5}, most(10));
  for (const auto& each : {gauge, counter, fine, coarse}) EXPECT_EQ(each.what, outcome::done);
  EXPECT_TRUE(m.set(gauge.id, "a", {}, 1, most(10)));
  EXPECT_TRUE(m.add(counter.id, "b", {}, 2, most(10)));
  EXPECT_TRUE(m.observe(fine.id, "c", {}, 1.5, most(10)));
  EXPECT_TRUE(m.observe(coarse.id, "d", {}, 1.5, most(10)));

  const auto all = m.figures();
  EXPECT_EQ(named(all, "troupe_app_n")->type, figure_type::gauge);
  EXPECT_EQ(named(all, "troupe_app_n")->figures.size(), 1u);
  EXPECT_EQ(named(all, "troupe_app_n_total")->type, figure_type::counter);
  EXPECT_EQ(named(all, "troupe_app_n_total")->figures.size(), 1u);
  const auto* const histograms = named(all, "troupe_app_n_histogram");
  ASSERT_EQ(histograms->figures.size(), 2u);
  EXPECT_EQ(histograms->help, "C.");
  EXPECT_THAT(histograms->figures[0].labels, ElementsAre(Pair("application", "c")));
  EXPECT_EQ(histograms->figures[0].buckets.size(), 2u);
  EXPECT_THAT(histograms->figures[1].labels, ElementsAre(Pair("application", "d")));
  EXPECT_EQ(histograms->figures[1].buckets.size(), 1u);
}

TEST(script_metrics, a_histogram_bucket_counts_values_up_to_its_bound) {
  script_metrics m;
  const auto h = m.declare("a", "wait", figure_type::histogram, "", {1, 2}, most(10)).id;
  for (const double v : {0.5, 1.0, 1.5, 2.5}) EXPECT_TRUE(m.observe(h, "a", {}, v, most(10)));
  const auto all = m.figures();
  const http::figure& f = named(all, "troupe_app_wait_histogram")->figures.at(0);
  EXPECT_EQ(f.count, 4u);
  EXPECT_EQ(f.value, 5.5);
  ASSERT_EQ(f.buckets.size(), 2u);
  EXPECT_EQ(f.buckets[0].count, 2u);
  EXPECT_EQ(f.buckets[1].count, 3u);
}

TEST(script_metrics, metrics_per_application_are_bounded) {
  script_metrics m;
  const auto g = m.declare("a", "g", figure_type::gauge, "", {}, most(3)).id;
  EXPECT_TRUE(m.set(g, "a", {{"n", "1"}}, 1, most(3)));
  EXPECT_TRUE(m.set(g, "a", {{"n", "2"}}, 2, most(3)));
  EXPECT_FALSE(m.set(g, "a", {{"n", "3"}}, 3, most(3)));
  EXPECT_TRUE(m.set(g, "a", {{"n", "1"}}, 4, most(3)));
  EXPECT_EQ(m.declare("a", "other", figure_type::gauge, "", {}, most(3)).what, outcome::too_many);
  const auto h = m.declare("b", "h", figure_type::histogram, "", {1, 2}, most(4)).id;
  EXPECT_FALSE(m.observe(h, "b", {}, 1, most(4)));
  EXPECT_TRUE(m.observe(h, "b", {}, 1, most(5)));
  const auto all = m.figures();
  const auto* const dropped = named(all, "troupe_application_metrics_dropped_total");
  EXPECT_EQ(dropped->figures.at(0).value, 2);
  EXPECT_EQ(dropped->figures.at(1).value, 1);
  EXPECT_EQ(named(all, "troupe_app_g")->figures.at(0).value, 4);
}

TEST(script_metrics, an_application_that_uses_up_its_quota_takes_nothing_from_another_one) {
  script_metrics m;
  constexpr script_metrics::quota small{.figures = 1'000, .bytes = 1'000};
  const auto greedy = m.declare("a", "n", figure_type::gauge, "", {}, small).id;
  int let_in = 0;
  while (m.set(greedy, "a", {{"n", std::to_string(let_in)}}, 1, small)) ++let_in;
  EXPECT_GT(let_in, 3);
  EXPECT_EQ(
      m.declare("a", std::string(64, 'x'), figure_type::gauge, std::string(256, 'y'), {}, small)
          .what,
      outcome::too_large);
  const auto other = m.declare("b", "n", figure_type::gauge, "", {}, small);
  EXPECT_EQ(other.what, outcome::done);
  EXPECT_TRUE(m.set(other.id, "b", {}, 1, small));
  EXPECT_TRUE(m.set(greedy, "a", {{"n", "0"}}, 2, small)) << "it is there already";
  const auto all = m.figures();
  EXPECT_EQ(named(all, "troupe_application_metrics_dropped_total")->figures.at(0).value, 2);
  EXPECT_EQ(named(all, "troupe_application_metrics_dropped_total")->figures.at(1).value, 0);
  EXPECT_LE(named(all, "troupe_application_metrics_bytes")->figures.at(0).value, 1'000);
}

// The text in which they are shown, as http makes it.
std::size_t shown_bytes(const std::vector<http::figure_family>& all) {
  std::vector<http::figure_family> of_scripts;
  for (const auto& each : all) {
    if (each.name.starts_with("troupe_app_")) of_scripts.push_back(each);
  }
  return http::detail::to_prometheus({}, {}, of_scripts).size() -
         http::detail::to_prometheus({}, {}, {}).size();
}

TEST(script_metrics, the_text_is_no_longer_than_the_quota_whatever_is_in_it) {
  constexpr std::size_t bytes = 20'000;
  constexpr script_metrics::quota of_bytes{.figures = 1'000'000, .bytes = bytes};
  constexpr double long_number = -1.2345678901234567e-300;
  for (const figure_type type :
       {figure_type::counter, figure_type::gauge, figure_type::histogram}) {
    for (const std::string& value :
         {std::string("v"), std::string(128, '"'), std::string(64, '\n')}) {
      script_metrics m;
      std::vector<double> buckets;
      if (type == figure_type::histogram) buckets = {long_number, long_number / 2};
      const std::string application(64, 'a');
      std::vector<script_metrics::id> ids;
      for (int i = 0; i < 1'000; ++i) {
        const auto made =
            m.declare(application, "n" + std::to_string(i), type,
                      std::string(static_cast<std::size_t>(i % 256), 'h'), buckets, of_bytes);
        if (made.what != outcome::done) break;
        for (int j = 0; j < 3; ++j) {
          const script_metrics::labels which{{"l", value}, {"other", std::to_string(j)}};
          if (type == figure_type::histogram) {
            m.observe(made.id, application, which, long_number, of_bytes);
          } else {
            m.add(made.id, application, which, long_number, of_bytes);
          }
        }
      }
      const std::size_t shown = shown_bytes(m.figures());
      EXPECT_LE(shown, bytes);
      EXPECT_GE(shown, bytes / 3) << "the quota is not far more than what is used";
    }
  }
}

TEST(script_metrics, names_are_checked) {
  for (const char* name : {"a", "hits_of_2"}) EXPECT_TRUE(script_metrics::is_name(name)) << name;
  for (const char* name : {"", "2a", "_a", "A", "a-b", "a b", "hits_total", "x_count", "x_sum",
                           "x_bucket", "x_histogram"}) {
    EXPECT_FALSE(script_metrics::is_name(name)) << name;
  }
  EXPECT_FALSE(script_metrics::is_name(std::string(65, 'a')));
  EXPECT_TRUE(script_metrics::is_label("room_count"));
  for (const char* name : {"le", "application", "", "9"}) {
    EXPECT_FALSE(script_metrics::is_label(name)) << name;
  }
}

TEST(script_metrics, export_nothing_before_the_first_declaration) {
  EXPECT_THAT(script_metrics().figures(), IsEmpty());
}

TEST(script_metrics, a_stampede_is_counted_right) {
  script_metrics m;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&m, t] {
      const std::string application = t % 2 == 0 ? "a" : "b";
      for (int i = 0; i < 2'000; ++i) {
        const auto c = m.declare(application, "hits", figure_type::counter, "", {}, most(100)).id;
        m.add(c, application, {{"n", std::to_string(i % 10)}}, 1, most(100));
        if (i % 100 == 0) {
          EXPECT_LE(m.figures().size(), 3u);
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
