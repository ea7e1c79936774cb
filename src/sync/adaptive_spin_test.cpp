// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <troupe/detail/sync/adaptive_spin.hpp>

namespace troupe {
namespace {

// Returns how many checks fail before it gives up.
std::uint32_t looks(adaptive_spin& spin) {
  std::uint32_t count = 0;
  EXPECT_FALSE(spin.until([&] { return ++count == 0; }));
  return count;
}

bool comes_after(adaptive_spin& spin, std::uint32_t many) {
  std::uint32_t count = 0;
  return spin.until([&] { return ++count > many; });
}

TEST(adaptive_spin, looks_at_least_some_times) {
  adaptive_spin spin;
  for (int i = 0; i < 1'000; ++i) (void)looks(spin);
  EXPECT_EQ(looks(spin), adaptive_spin::least);
}

TEST(adaptive_spin, looks_longer_where_that_helps) {
  adaptive_spin spin;
  for (std::uint32_t after = 0; after < 60; ++after) {
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(comes_after(spin, after));
  }
  EXPECT_GT(looks(spin), 60u);
}

TEST(adaptive_spin, looks_after_each_gap_and_learns_in_pauses) {
  constexpr std::uint32_t gap = 16;
  adaptive_spin spin(64);
  const auto looks_in_vain = [&] {
    std::uint32_t count = 0;
    EXPECT_FALSE(spin.until([&] { return ++count == 0; }, gap));
    return count;
  };
  EXPECT_EQ(looks_in_vain(), 1u);
  for (std::uint32_t look = 1; look <= 3; ++look) {
    for (int i = 0; i < 20; ++i) {
      std::uint32_t count = 0;
      (void)spin.until([&] { return ++count == look; }, gap);
    }
  }
  EXPECT_EQ(looks_in_vain(), 4u) << "64 pauses";
  for (int i = 0; i < 1'000; ++i) (void)looks_in_vain();
  EXPECT_EQ(looks_in_vain(), 1u);
}

TEST(adaptive_spin, never_looks_longer_than_it_may) {
  adaptive_spin spin(20);
  for (int i = 0; i < 1'000; ++i) (void)comes_after(spin, 19);
  EXPECT_LE(looks(spin), 20u);
  adaptive_spin none(0);
  EXPECT_EQ(looks(none), 0u);
}

}  // namespace
}  // namespace troupe
