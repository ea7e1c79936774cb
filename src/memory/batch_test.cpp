// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <troupe/detail/memory/batch.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <vector>

namespace troupe::detail {
namespace {

// Blocks of one shape in random order, including the bytes before the part that may be overwritten.
class test_blocks {
 public:
  explicit test_blocks(const block_shape& shape)
      : shape_(shape), memory_(std::size_t{shape.bytes} * shape.batch, std::byte{0xa5}) {
    for (std::size_t i = 0; i < shape.batch; ++i) all_.push_back(memory_.data() + i * shape.bytes);
    std::shuffle(all_.begin(), all_.end(), std::minstd_rand(shape.bytes));
    for (void* each : all_) poison_free(shape, each);
  }
  test_blocks(const test_blocks&) = delete;
  test_blocks& operator=(const test_blocks&) = delete;
  ~test_blocks() {
    for (void* each : all_) unpoison_free(shape_, each);
    for (void* each : all_) {
      const auto* const begin = static_cast<const std::byte*>(each);
      EXPECT_TRUE(std::all_of(begin, begin + shape_.link_offset, [](std::byte b) {
        return b == std::byte{0xa5};
      })) << "what lies before stays as it is";
    }
  }

  [[nodiscard]] std::span<void* const> first(std::size_t count) const {
    return std::span(all_).first(count);
  }

 private:
  const block_shape shape_;
  std::vector<std::byte> memory_;
  std::vector<void*> all_;
};

std::vector<block_shape> shapes() {
  std::vector<block_shape> all;
  for (std::size_t i = 0; i < size_classes_max; ++i) all.push_back(pool_shape(i));
  for (const std::uint32_t offset : {8u, 16u, 40u}) {
    all.push_back({64, offset, 64});
    all.push_back({1024, offset, 16});
  }
  return all;
}

TEST(batch, unpack_returns_the_packed_blocks) {
  for (const block_shape& shape : shapes()) {
    ASSERT_TRUE(is_well_formed(shape)) << shape.bytes;
    const test_blocks blocks(shape);
    for (std::uint32_t count = 1; count <= shape.batch; ++count) {
      const block_batch batch = pack(shape, blocks.first(count));
      EXPECT_EQ(batch.count, count);
      std::array<void*, batch_max> again{};
      unpack(shape, batch, again);
      ASSERT_TRUE(std::equal(again.begin(), again.begin() + count, blocks.first(count).begin()))
          << count << " blocks of " << shape.bytes << " bytes";
    }
  }
}

TEST(batch, few_blocks_are_written_on) {
  const block_shape shape = pool_shape(2);
  ASSERT_EQ(shape.bytes, 64u);
  const test_blocks blocks(shape);
  for (void* each : blocks.first(shape.batch)) {
    unpoison_free(shape, each);
    std::memset(each, 0x5a, shape.bytes);
    poison_free(shape, each);
  }
  (void)pack(shape, blocks.first(shape.batch));
  std::size_t written = 0;
  for (void* each : blocks.first(shape.batch)) {
    unpoison_free(shape, each);
    const auto* const begin = static_cast<const std::byte*>(each);
    if (!std::all_of(begin, begin + shape.bytes, [](std::byte b) { return b == std::byte{0x5a}; }))
      ++written;
    poison_free(shape, each);
  }
  EXPECT_EQ(written, 17u);
}

TEST(batch_list, pops_the_last_batch_first) {
  const block_shape shape{64, 8, 4};
  const test_blocks one(shape);
  const test_blocks other(shape);
  batch_list list;
  EXPECT_TRUE(list.empty());
  list.push(shape, pack(shape, one.first(4)));
  list.push(shape, pack(shape, other.first(3)));
  EXPECT_EQ(list.blocks(), 7u);
  const block_batch last = list.pop(shape);
  EXPECT_EQ(last.first, other.first(1)[0]);
  EXPECT_EQ(last.count, 3u);
  const block_batch first = list.pop(shape);
  EXPECT_EQ(first.first, one.first(1)[0]);
  EXPECT_EQ(first.count, 4u);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.blocks(), 0u);
}

}  // namespace
}  // namespace troupe::detail
