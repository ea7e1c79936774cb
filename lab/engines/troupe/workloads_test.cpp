// SPDX-License-Identifier: Apache-2.0
#include "lab/engines/troupe/workloads.hpp"

#include <gtest/gtest.h>

#include "lab/frame/trial.hpp"

namespace troupe::lab::workloads {

namespace {

unsigned runs = 0;

void count_runs(trial& t) { t.report("rate", "messages/s", static_cast<double>(++runs)); }

}  // namespace

TEST(second_run, reports_the_second_of_two_runs_only) {
  runs = 0;
  trial t{sizes{}};
  second_run<count_runs>(t);
  EXPECT_EQ(runs, 2u);
  ASSERT_EQ(t.figures().size(), 1u);
  EXPECT_EQ(t.figures()[0].value, 2);
}

}  // namespace troupe::lab::workloads
