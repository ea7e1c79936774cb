// SPDX-License-Identifier: Apache-2.0
#include "timer_entry.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace troupe::detail {
namespace {

constexpr std::size_t many = 100'000;  // entries of several chunks

std::vector<timer_entry*> take(entry_store& from, std::size_t count) {
  std::vector<timer_entry*> those;
  for (std::size_t i = 0; i < count; ++i) those.push_back(&from.take());
  return those;
}

// As the service does it.
void free_all(entry_store& to, const std::vector<timer_entry*>& those) {
  for (timer_entry* each : those) {
    ++each->generation;
    to.give_back(*each);
  }
}

void discard_surplus(entry_store& of, std::size_t stay) {
  while (entry_store::chunk* const one = of.take_surplus(stay)) {
    entry_store::discard(*one);
    of.put_vacant(*one);
  }
}

TEST(entry_store, returns_unused_chunks) {
  entry_store store;
  const auto those = take(store, many);
  const std::size_t needed = store.chunks_kept();
  ASSERT_GT(needed, 2u);
  EXPECT_FALSE(store.has_surplus());
  free_all(store, those);
  EXPECT_TRUE(store.has_surplus());
  discard_surplus(store, 1);
  EXPECT_EQ(store.chunks_kept(), 1u);
  discard_surplus(store, 0);
  EXPECT_EQ(store.chunks_kept(), 0u);
}

TEST(entry_store, keeps_a_chunk_of_which_an_entry_is_used) {
  entry_store store;
  auto those = take(store, many);
  timer_entry* const used = those[many / 2];
  used->generation = 77;
  those.erase(those.begin() + many / 2);
  free_all(store, those);
  discard_surplus(store, 0);
  EXPECT_EQ(store.chunks_kept(), 1u);
  EXPECT_EQ(used->generation, 77u);
}

// A handle may inspect its entry at any time.
TEST(entry_store, an_entry_in_a_discarded_chunk_is_readable_and_has_generation_zero) {
  entry_store store;
  const auto those = take(store, many);
  free_all(store, those);
  discard_surplus(store, 0);
  for (const timer_entry* each : those) EXPECT_EQ(each->generation, 0u);
}

TEST(entry_store, an_entry_never_has_a_generation_again_that_one_in_its_place_has_had) {
  entry_store store;
  std::unordered_map<const timer_entry*, std::uint64_t> last;
  for (int round = 0; round < 4; ++round) {
    const auto those = take(store, many);
    for (const timer_entry* each : those) {
      EXPECT_GT(each->generation, last[each]);
      last[each] = each->generation;
    }
    free_all(store, those);
    if (round % 2 == 0) discard_surplus(store, 0);
  }
}

TEST(entry_store, used_chunks_are_used_before_vacant_ones) {
  entry_store store;
  auto those = take(store, many);
  const std::size_t needed = store.chunks_kept();
  free_all(store, those);
  discard_surplus(store, 1);
  those = take(store, 10);
  EXPECT_EQ(store.chunks_kept(), 1u);
  free_all(store, those);
  those = take(store, many);
  EXPECT_EQ(store.chunks_kept(), needed);
  free_all(store, those);
}

}  // namespace
}  // namespace troupe::detail
