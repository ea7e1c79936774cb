// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <troupe/detail/memory/pages.hpp>
#include <vector>

namespace troupe::detail {
namespace {

constexpr std::size_t bytes = 256 * 1024;

bool all_zero(const std::byte* begin, std::size_t count) {
  return std::all_of(begin, begin + count, [](std::byte each) { return each == std::byte{0}; });
}

TEST(pages, are_aligned_and_read_as_zero) {
  std::vector<std::byte*> some;
  for (int i = 0; i < 20; ++i) {
    some.push_back(static_cast<std::byte*>(obtain_pages(bytes, bytes)));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(some.back()) % bytes, 0u);
    ASSERT_TRUE(all_zero(some.back(), bytes));
    std::memset(some.back(), 1, bytes);
  }
  for (std::byte* each : some) return_pages(each, bytes, bytes);
}

TEST(pages, discarded_pages_are_writable_and_adjacent_pages_keep_their_data) {
  auto* const begin = static_cast<std::byte*>(obtain_pages(bytes, bytes));
  std::memset(begin, 7, bytes);
  discard_pages(begin + page_bytes, 2 * page_bytes);
  EXPECT_EQ(begin[page_bytes - 1], std::byte{7});
  EXPECT_EQ(begin[3 * page_bytes], std::byte{7});
  std::memset(begin + page_bytes, 8, 2 * page_bytes);
  EXPECT_EQ(begin[page_bytes], std::byte{8});
  return_pages(begin, bytes, bytes);
}

TEST(pages, an_address_of_more_than_48_bits_is_refused) {
  const auto beyond = std::uintptr_t{1} << address_bits;
  expect_low_addresses(reinterpret_cast<void*>(beyond - 64), 63);
  EXPECT_DEATH(expect_low_addresses(reinterpret_cast<void*>(beyond - 64), 64), "48 bits");
}

}  // namespace
}  // namespace troupe::detail
