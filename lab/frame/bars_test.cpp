// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/bars.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace troupe::lab {
namespace {

measurements found() {
  measurements all;
  all.all.push_back({{}, "ours", "echo", "cost", "ns", {3, 1, 2}});
  all.all.push_back({{}, "theirs", "echo", "cost", "ns", {4, 4, 4}});
  all.all.push_back({{}, "nobody's", "echo", "cost", "ns", {0, 0, 0}});
  return all;
}

constexpr measured_by ours{"ours", "echo", "cost"};

TEST(bars, a_number_is_compared_with_the_median) {
  const std::vector<bar> bars{{"at most two", ours, 2}, {"at most 1.9", ours, 1.9}};
  const std::vector<judged> all = judge(bars, found());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].is_met());
  EXPECT_EQ(all[0].unit, "ns");
  EXPECT_FALSE(all[1].is_met());
  EXPECT_EQ(sentence_of(all), "1 of 2 bars are met. Not met: at most 1.9.");
}

TEST(bars, a_ratio_has_no_unit) {
  const std::vector<bar> bars{{"half", ours, 0.5, {"theirs", "echo", "cost"}}};
  const std::vector<judged> all = judge(bars, found());
  EXPECT_EQ(all[0].value, 0.5);
  EXPECT_EQ(all[0].unit, "1");
  EXPECT_TRUE(all[0].is_met());
  EXPECT_EQ(json_of(all).dump(),
            R"([{"bar":"half","value":0.5,"most":0.5,"unit":"1","met":true}])");
}

TEST(bars, unmeasured_bars_are_not_met_and_are_listed) {
  const std::vector<bar> bars{{"of nobody", {"x", "echo", "cost"}, 1},
                              {"by nobody", ours, 1, {"x", "echo", "cost"}},
                              {"by nothing", ours, 1, {"nobody's", "echo", "cost"}}};
  const std::vector<judged> all = judge(bars, found());
  for (const judged& each : all) EXPECT_FALSE(each.value || each.is_met()) << each.of->what;
  EXPECT_EQ(sentence_of(all),
            "0 of 3 bars are met. Not measured: of nobody; by nobody; by nothing.");
  EXPECT_TRUE(json_of(all)[0]["value"].is_null());
  std::ostringstream out;
  print_bars(out, all);
  EXPECT_NE(out.str().find("not measured"), std::string::npos);
}

TEST(bars, without_bars_nothing_is_printed) {
  EXPECT_EQ(sentence_of({}), "");
  std::ostringstream out;
  print_bars(out, {});
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace troupe::lab
