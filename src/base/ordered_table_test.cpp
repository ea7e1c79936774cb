// SPDX-License-Identifier: Apache-2.0
#include "ordered_table.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <random>
#include <string>
#include <utility>

namespace troupe::detail {
namespace {

// The worst hash: all keys collide.
struct one_bucket {
  std::size_t operator()(int) const noexcept { return 1; }
};
using table = ordered_table<int, int, one_bucket>;

std::string walked(table& of) {
  std::string all;
  for (const auto& each : of) {
    (all += std::to_string(each.key)) += '=';
    (all += std::to_string(each.value)) += ' ';
  }
  return all;
}

TEST(ordered_table, is_walked_in_the_order_of_adding) {
  table t;
  EXPECT_TRUE(t.empty());
  EXPECT_EQ(walked(t), "");
  for (const int key : {5, 2, 9}) EXPECT_TRUE(t.try_add(key, key * 10).second);
  EXPECT_EQ(walked(t), "5=50 2=20 9=90 ");
  EXPECT_FALSE(t.empty());
}

TEST(ordered_table, finds_and_keeps_existing_entries) {
  table t;
  (void)t.try_add(5, 50);
  const auto [at, is_new] = t.try_add(5, 60);
  EXPECT_FALSE(is_new);
  EXPECT_EQ(*at, 50);
  EXPECT_EQ(t.find(5), at);
  EXPECT_EQ(t.find(6), nullptr);
}

TEST(ordered_table, erases_the_first_the_last_and_a_middle_entry) {
  table t;
  for (int key = 1; key <= 5; ++key) (void)t.try_add(key, 0);
  t.erase(3);
  EXPECT_EQ(walked(t), "1=0 2=0 4=0 5=0 ");
  t.erase(1);
  t.erase(5);
  t.erase(7);
  EXPECT_EQ(walked(t), "2=0 4=0 ");
  (void)t.try_add(1, 1);
  EXPECT_EQ(walked(t), "2=0 4=0 1=1 ");
  for (const int key : {4, 1, 2}) t.erase(key);
  EXPECT_TRUE(t.empty());
  (void)t.try_add(8, 8);
  EXPECT_EQ(walked(t), "8=8 ");
}

TEST(ordered_table, does_as_a_list_would) {
  std::mt19937 numbers(4711);
  ordered_table<int, int> t;
  std::deque<int> keys;
  for (int i = 0; i < 5'000; ++i) {
    const int key = static_cast<int>(numbers() % 200);
    if (t.find(key) == nullptr) {
      keys.push_back(key);
      (void)t.try_add(key, i);
    } else {
      std::erase(keys, key);
      t.erase(key);
    }
  }
  auto expected = keys.begin();
  for (const auto& each : t) {
    ASSERT_NE(expected, keys.end());
    EXPECT_EQ(each.key, *expected++);
  }
  EXPECT_EQ(expected, keys.end());
}

}  // namespace
}  // namespace troupe::detail
