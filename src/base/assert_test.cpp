// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <troupe/detail/base/assert.hpp>

namespace troupe {
namespace {

TEST(expects, prints_the_location_and_the_condition_and_aborts) {
  const int workers = 0;
  EXPECT_DEATH(TROUPE_EXPECTS(workers > 0, "system: at least one worker"),
               "assert_test.cpp:[0-9]+: system: at least one worker \\(workers > 0\\)");
}

TEST(expects, does_nothing_if_the_condition_holds) {
  int looked = 0;
  TROUPE_EXPECTS(++looked == 1, "evaluated once");
  EXPECT_EQ(looked, 1);
}

TEST(assert, is_checked_unless_ndebug_is_defined) {
  [[maybe_unused]] int looked = 0;
#ifdef NDEBUG
  TROUPE_ASSERT(++looked < 0, "not evaluated");
  EXPECT_EQ(looked, 0);
#else
  EXPECT_DEATH(TROUPE_ASSERT(looked > 0, "never"), "never");
#endif
}

}  // namespace
}  // namespace troupe
