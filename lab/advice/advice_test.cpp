// SPDX-License-Identifier: Apache-2.0
#include "lab/advice/advice.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <troupe/actor/settings.hpp>
#include <vector>

namespace troupe::lab {
namespace {

candidate_value with_gains(std::uint64_t value, const std::vector<double>& gains, double median) {
  candidate_value one{.value = value, .gains = gains, .median_gain = median};
  for (const double each : gains) one.better_in += each > 1 ? 1 : 0;
  return one;
}

setting_advice of(const std::vector<candidate_value>& tried) {
  setting_advice one{.name = "turn_messages", .usual = 128, .tried = tried};
  conclude(one);
  return one;
}

TEST(advice, a_gain_in_nearly_all_rounds_is_recommended_with_its_figure) {
  const auto one = of({with_gains(32, {0.8, 0.8, 0.8, 0.8, 0.8}, 0.8),
                       with_gains(512, {1.1, 1.2, 1.1, 1.1, 0.99}, 1.1)});
  EXPECT_EQ(one.recommended, 512U);
  EXPECT_EQ(
      one.reason,
      "against the default 128: +10.0 % in the median, better in 4 of 5 rounds; CPU time +0.0 %");
}

TEST(advice, recommends_the_cheapest_of_similar_gains) {
  const std::vector<double> rounds{10, 10, 10, 10, 10};
  candidate_value dear = with_gains(1'024, rounds, 10);
  dear.median_cpu = 1.5;
  candidate_value cheap = with_gains(256, rounds, 9.5);
  cheap.median_cpu = 1.2;
  candidate_value less = with_gains(128, rounds, 5);
  less.median_cpu = 1.1;
  const auto one = of({less, dear, cheap});
  EXPECT_EQ(one.recommended, 256U);
  EXPECT_EQ(
      one.reason,
      "against the default 128: +850.0 % in the median, better in 5 of 5 rounds; CPU time +20.0 %");
}

TEST(advice, keeps_the_default_if_the_gain_may_be_noise) {
  const auto often_worse = of({with_gains(512, {1.3, 1.3, 1.1, 0.9, 0.9}, 1.1)});
  EXPECT_EQ(often_worse.recommended, 128U);
  EXPECT_EQ(often_worse.reason,
            "the default: the best other value, 512, gains +10.0 % in the median, better in 3 of 5 "
            "rounds, which is noise");
  EXPECT_EQ(of({with_gains(512, {1.02, 1.02, 1.02, 1.02, 1.02}, 1.02)}).recommended, 128U)
      << "too little";
  EXPECT_EQ(of({with_gains(512, {2, 2, 2, 2}, 2)}).recommended, 128U) << "too few rounds";
}

TEST(advice, without_a_gain_it_reports_the_loss_of_the_best_candidate) {
  const auto one = of({with_gains(32, {0.5, 0.5, 0.5, 0.5, 0.5}, 0.5),
                       with_gains(512, {0.9, 0.9, 0.9, 0.9, 0.9}, 0.9)});
  EXPECT_EQ(one.recommended, 128U);
  EXPECT_EQ(one.reason,
            "the default: the best other value, 512, loses: -10.0 % in the median, better in 0 of "
            "5 rounds");
}

TEST(advice, with_nothing_to_try_the_default_stays) { EXPECT_EQ(of({}).recommended, 128U); }

TEST(advice, the_settings_file_applies_the_recommendations) {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("troupe-advice-" + std::to_string(::getpid())))
          .string();
  const std::vector<setting_advice> all{
      {.name = "workers", .usual = 2, .recommended = 2, .reason = "the default"},
      {.name = "turn_messages", .usual = 128, .recommended = 512, .reason = "a gain"}};
  std::ofstream(file) << settings_file(look_at_host(), all);
  const system_options options = read_settings(file, {.workers = 7});
  std::filesystem::remove(file);
  EXPECT_EQ(options.workers, 7U) << "a default is only a comment";
  EXPECT_EQ(options.turn_messages, 512U);
}

}  // namespace
}  // namespace troupe::lab
