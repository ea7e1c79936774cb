// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/measuring.hpp"

#include <gtest/gtest.h>

#include <string>

#include "lab/frame/report.hpp"

namespace troupe::lab {
namespace {

subject that_prints(const std::string& variant, const std::string& text) {
  return {{}, "one", variant, {"/bin/sh", "-c", "printf '%s' \"$0\"", text}};
}

measurements measured(const std::vector<subject>& subjects) {
  progress shown;
  return measure(subjects, 1, std::chrono::seconds(10), shown);
}

TEST(measuring, a_run_that_could_not_measure_is_a_note_and_no_failure) {
  const measurements found = measured(
      {that_prints("a", "rate items/s 5\n"), that_prints("b", "# not measured: not permitted\n")});
  EXPECT_TRUE(found.failures.empty());
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_EQ(found.notes[0], "one, b: not measured: not permitted");
  for (const series& each : found.all) EXPECT_EQ(each.variant, "a");
}

TEST(measuring, a_run_without_figures_and_without_a_reason_is_a_failure) {
  const measurements found =
      measured({that_prints("a", ""), that_prints("b", "# the tick has no priority\n")});
  EXPECT_EQ(found.failures,
            (std::vector<std::string>{"one, a: printed no figures", "one, b: printed no figures"}));
}

TEST(measuring, a_published_range_stays_a_range) {
  const published one{"std", "mutex", "ratio", 1.05, "2018", 1.07};
  EXPECT_EQ(published_text(one, "1"), "1.05 – 1.07");
  EXPECT_EQ(published_text({"std", "mutex", "ratio", 1.05, "2018"}, "1"), "1.05");
}

}  // namespace
}  // namespace troupe::lab
