// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <troupe/detail/memory/chunk_store.hpp>
#include <troupe/detail/memory/pages.hpp>
#include <troupe/detail/memory/poison.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <vector>

namespace troupe::detail {
namespace {

constexpr block_shape shape{.bytes = 512, .link_offset = 0, .batch = 3};
// A slab of four chunks with eight blocks each.
constexpr chunk_layout layout{.slab_bytes = 32 * 1024,
                              .head_bytes = page_bytes,
                              .chunk_bytes = page_bytes,
                              .chunks = 4,
                              .blocks = 8};
constexpr std::size_t in_a_slab = 32;

struct test_store {
  chunk_store all{shape, layout};

  test_store() = default;
  test_store(const test_store&) = delete;
  test_store& operator=(const test_store&) = delete;
  ~test_store() {
    vacate();
    EXPECT_EQ(all.resident(), 0u);
  }

  std::vector<void*> take(std::size_t count) {
    std::vector<void*> taken;
    while (taken.size() < count) {
      std::array<void*, batch_max> got;
      const std::size_t some = all.take(got);
      for (std::size_t i = some; i-- > 0;) {  // a thread uses the last one first
        unpoison(got[i], shape.bytes);
        taken.push_back(got[i]);
      }
    }
    return taken;
  }
  void bring_home(const std::vector<void*>& blocks) {
    for (void* each : blocks) {
      poison(each, shape.bytes);
      all.bring_home({&each, 1});
    }
  }
  std::size_t vacate() {
    std::size_t steps = 0;
    for (chunk_store::vacancy pages; (pages = all.begin_vacating()).where != nullptr; ++steps) {
      all.release(pages);
      all.end_vacating(pages);
    }
    return steps;
  }
};

TEST(chunk_store, empty) {
  test_store store;
  EXPECT_EQ(store.vacate(), 0u);
  EXPECT_EQ(store.all.blocks_at_home(), 0u);
}

TEST(chunk_store, blocks_are_distinct_and_writable) {
  test_store store;
  const auto taken = store.take(3 * in_a_slab);
  EXPECT_EQ(std::set<void*>(taken.begin(), taken.end()).size(), taken.size());
  for (void* each : taken) std::memset(each, 0xee, shape.bytes);
  store.bring_home(taken);
}

TEST(chunk_store, order) {  // the lower chunk first, as long as it has room
  test_store store;
  const auto taken = store.take(12);
  for (std::size_t i = 1; i < taken.size(); ++i) {
    ASSERT_EQ(taken[i], static_cast<std::byte*>(taken[0]) + i * shape.bytes);
  }
  store.bring_home({taken[9], taken[2]});
  const auto again = store.take(3);
  EXPECT_EQ(again[0], taken[2]);
  store.bring_home(taken);
  store.bring_home({again.begin() + 2, again.end()});
}

TEST(chunk_store, a_chunk_is_vacated_when_its_last_block_returns) {
  test_store store;
  auto taken = store.take(in_a_slab);
  const std::size_t full = store.all.resident();
  const std::vector<void*> seven(taken.begin(), taken.begin() + 7);
  store.bring_home(seven);
  EXPECT_EQ(store.vacate(), 0u);
  store.bring_home({taken[7]});
  EXPECT_EQ(store.all.blocks_at_home(), 8u);
  EXPECT_EQ(store.vacate(), 1u);
  EXPECT_EQ(store.all.blocks_at_home(), 0u);
  EXPECT_EQ(store.all.resident(), full - page_bytes);
  store.bring_home({taken.begin() + 8, taken.begin() + 24});
  EXPECT_EQ(store.vacate(), 1u) << "neighbours go together";
  store.bring_home({taken.begin() + 24, taken.end()});
  EXPECT_EQ(store.vacate(), 1u) << "the slab goes with its head";
  EXPECT_EQ(store.all.resident(), 0u);
}

TEST(chunk_store, vacated_chunks_are_used_again) {
  test_store store;
  const auto taken = store.take(in_a_slab);
  const std::size_t full = store.all.resident();
  store.bring_home({taken.begin() + 8, taken.begin() + 16});
  EXPECT_EQ(store.vacate(), 1u);
  const auto again = store.take(8);
  EXPECT_EQ(std::set<void*>(again.begin(), again.end()),
            std::set<void*>(taken.begin() + 8, taken.begin() + 16));
  store.bring_home(again);
  store.bring_home({taken.begin(), taken.begin() + 8});
  store.bring_home({taken.begin() + 16, taken.end()});
  EXPECT_EQ(store.all.resident(), full);
}

TEST(chunk_store, blocks_taken_during_vacating_come_from_other_chunks) {
  test_store store;
  const auto taken = store.take(in_a_slab);
  store.bring_home({taken.begin(), taken.begin() + 24});
  const chunk_store::vacancy pages = store.all.begin_vacating();
  ASSERT_EQ(pages.count, 3u);
  const auto meanwhile = store.take(3);
  store.all.release(pages);
  for (void* each : meanwhile) {
    std::memset(each, 0x11, shape.bytes);
    for (std::size_t i = 0; i < 24; ++i) ASSERT_NE(each, taken[i]);
  }
  store.all.end_vacating(pages);
  store.bring_home(meanwhile);
  store.bring_home({taken.begin() + 24, taken.end()});
}

TEST(chunk_store, no_class_of_the_pool_wastes_more_than_a_sixteenth) {
  for (std::size_t i = 0; i < size_classes_max; ++i) {
    const chunk_layout pool = pool_layout(i);
    EXPECT_GE(pool.blocks * pool_sizes[i] * 16, pool.chunk_bytes * 15) << pool_sizes[i];
    EXPECT_LE(pool.head_bytes + pool.chunks * pool.chunk_bytes, pool.slab_bytes);
    std::printf("%6u bytes: %3u in a chunk of %3u KiB, %3u chunks, batches of %u\n", pool_sizes[i],
                pool.blocks, pool.chunk_bytes / 1024, pool.chunks, pool_shape(i).batch);
  }
}

#ifdef TROUPE_ASAN
TEST(chunk_store, a_use_of_a_vacant_chunk_is_found) {
  test_store store;
  const auto taken = store.take(in_a_slab);
  store.bring_home({taken.begin(), taken.begin() + 8});
  store.vacate();
  EXPECT_DEATH(*static_cast<volatile char*>(taken[3]) = 1, "use-after-poison");
  store.bring_home({taken.begin() + 8, taken.end()});
}
#endif

}  // namespace
}  // namespace troupe::detail
