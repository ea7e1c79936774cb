// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/comparable.hpp"

#include <gtest/gtest.h>

namespace troupe::lab {
namespace {

TEST(comparable, the_same_optimisation_everywhere_is_fair) {
  EXPECT_EQ(why_not_comparable({{"one", "-O3 -DNDEBUG"}, {"other", " -O3  -DNDEBUG"}}), "");
  EXPECT_EQ(why_not_comparable({{"one", "-O0 -O2"}}), "");
}

TEST(comparable, other_flags_are_named_with_both_programs) {
  EXPECT_EQ(why_not_comparable({{"one", "-O3 -g1"}, {"other", "-O3 -g1 -O1"}}),
            "one is compiled with '-O3 -g1', and other is compiled with '-O3 -g1 -O1'");
  EXPECT_NE(why_not_comparable({{"one", "-O3"}, {"other", "-O3"}, {"third", "-O3 -flto"}}), "");
}

TEST(comparable, the_last_level_of_optimisation_counts) {
  EXPECT_EQ(why_not_comparable({{"one", "-O3 -O1"}}),
            "one is compiled with '-O3 -O1', without -O2 or -O3");
  EXPECT_NE(why_not_comparable({{"one", "-g"}}), "");
}

TEST(comparable, a_sanitizer_is_unfair) {
  EXPECT_EQ(why_not_comparable({{"one", "-O2 -fsanitize=thread"}}),
            "one is compiled with '-O2 -fsanitize=thread', with a sanitizer");
}

}  // namespace
}  // namespace troupe::lab
