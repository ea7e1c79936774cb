// SPDX-License-Identifier: Apache-2.0
// type_name and address: the names of messages and actors.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <troupe/message/address.hpp>
#include <troupe/message/type_name.hpp>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace bank {
struct deposit {
  struct receipt {};
};
template <class T>
struct transfer {};
enum class currency { euro };
}  // namespace bank

namespace troupe {
namespace {

TEST(type_name, is_as_written_in_the_source) {
  EXPECT_EQ(type_name<int>(), "int");
  EXPECT_EQ(type_name<bank::deposit>(), "bank::deposit");
  EXPECT_EQ(type_name<bank::deposit::receipt>(), "bank::deposit::receipt");
  EXPECT_EQ(type_name<bank::transfer<int>>(), "bank::transfer<int>");
  EXPECT_EQ(type_name<bank::currency>(), "bank::currency");
}

TEST(type_name, is_made_at_compile_time) {
  static_assert(type_name<bank::deposit>() == "bank::deposit");
  static_assert(type_name<bank::deposit>() != type_name<bank::transfer<int>>());
}

TEST(type_name, with_brackets_is_whole) {
  EXPECT_TRUE(type_name<int[3]>().ends_with("[3]")) << type_name<int[3]>();
  EXPECT_TRUE(type_name<bank::transfer<int[]>>().ends_with("[]>"));
}

address make(std::uintptr_t line, std::uint32_t generation) {
  return detail::address_access::make(reinterpret_cast<detail::lifeline*>(line), generation);
}

TEST(address, is_false_if_it_names_no_actor) {
  EXPECT_FALSE(address{});
  EXPECT_TRUE(make(0x1000, 0));
  EXPECT_EQ(address{}, address{});
}

TEST(address, is_equal_only_to_that_of_the_same_actor) {
  const address a = make(0x1000, 1);
  EXPECT_EQ(a, make(0x1000, 1));
  EXPECT_NE(a, make(0x1000, 2)) << "a later actor in the same slot";
  EXPECT_NE(a, make(0x2000, 1));
  EXPECT_NE(a, address{});
}

TEST(address, is_ordered) {
  const std::set<address> all{make(0x2000, 1), make(0x1000, 2), make(0x1000, 1), make(0x1000, 2)};
  const std::vector<address> sorted(all.begin(), all.end());
  const std::vector<address> expected{make(0x1000, 1), make(0x1000, 2), make(0x2000, 1)};
  EXPECT_EQ(sorted, expected);
}

TEST(address, is_hashed_by_slot_and_generation) {
  EXPECT_EQ(std::hash<address>{}(make(0x1000, 1)), std::hash<address>{}(make(0x1000, 1)));
  std::unordered_set<std::size_t> hashes;
  for (std::uintptr_t line = 1; line <= 100; ++line) {
    for (std::uint32_t generation = 0; generation < 100; ++generation) {
      hashes.insert(make(line * 128, generation).hash());
    }
  }
  EXPECT_GT(hashes.size(), 9'900u);
}

TEST(address, prints_the_same_for_equal_ones_only) {
  EXPECT_EQ(to_string(make(0x4f3a80, 2)), to_string(make(0x4f3a80, 2)));
  std::set<std::string> texts{to_string(address{})};
  for (const std::uintptr_t line : {0x1000u, 0x2000u, 0x1040u}) {
    for (const std::uint32_t generation : {0u, 1u, 10u}) {
      texts.insert(to_string(make(line, generation)));
    }
  }
  EXPECT_EQ(texts.size(), 10u);
  EXPECT_EQ(to_string(make(0x4f3a80 * 64, 2)), "4f3a80.2");
}

static_assert(sizeof(address) == 16);
static_assert(std::is_trivially_copyable_v<address>);

}  // namespace
}  // namespace troupe
