// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <troupe/detail/sync/thread.hpp>
#include <troupe/detail/sync/work_ring.hpp>
#include <vector>

namespace troupe {
namespace {

struct items {
  explicit items(std::size_t count) : all(count) { std::iota(all.begin(), all.end(), 0); }
  int* operator[](std::size_t i) { return &all[i]; }

  std::vector<int> all;
};

using small_ring = work_ring<int, 8>;

TEST(work_ring, empty) {
  small_ring ring;
  small_ring mine;
  int* first = nullptr;
  int* out[4];
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.pop(), nullptr);
  EXPECT_EQ(ring.steal_half_into(mine, first), 0u);
  EXPECT_EQ(first, nullptr);
  EXPECT_EQ(ring.take_half(out, 4), 0u);
}

TEST(work_ring, order) {
  small_ring ring;
  items some(100);
  for (std::size_t i = 0; i < 100; i += 2) {  // wraps around
    EXPECT_TRUE(ring.push(some[i]));
    EXPECT_TRUE(ring.push(some[i + 1], release));
    EXPECT_EQ(ring.size(), 2u);
    EXPECT_EQ(ring.pop(), some[i]);
    EXPECT_EQ(ring.pop(), some[i + 1]);
  }
}

TEST(work_ring, full) {
  small_ring ring;
  items some(9);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(ring.push(some[i]));
  EXPECT_FALSE(ring.push(some[8]));
  EXPECT_EQ(ring.size(), 8u);
  EXPECT_EQ(ring.pop(), some[0]);
  EXPECT_TRUE(ring.push(some[8]));
}

TEST(work_ring, a_thief_takes_the_older_half_rounded_up) {
  small_ring ring;
  small_ring mine;
  items some(5);
  for (std::size_t i = 0; i < 5; ++i) ASSERT_TRUE(ring.push(some[i]));
  int* first = nullptr;
  EXPECT_EQ(ring.steal_half_into(mine, first), 3u);
  EXPECT_EQ(first, some[0]);
  EXPECT_EQ(mine.pop(), some[1]);
  EXPECT_EQ(mine.pop(), some[2]);
  EXPECT_EQ(mine.pop(), nullptr);
  EXPECT_EQ(ring.pop(), some[3]);
  EXPECT_EQ(ring.pop(), some[4]);
}

TEST(work_ring, a_thief_takes_the_only_item) {
  small_ring ring;
  small_ring mine;
  items some(1);
  ASSERT_TRUE(ring.push(some[0]));
  int* first = nullptr;
  EXPECT_EQ(ring.steal_half_into(mine, first), 1u);
  EXPECT_EQ(first, some[0]);
  EXPECT_TRUE(mine.empty());
  EXPECT_TRUE(ring.empty());
}

TEST(work_ring, a_thief_takes_no_more_than_fits) {
  small_ring ring;
  small_ring mine;
  items some(15);
  for (std::size_t i = 0; i < 8; ++i) ASSERT_TRUE(ring.push(some[i]));
  for (std::size_t i = 8; i < 15; ++i) ASSERT_TRUE(mine.push(some[i]));
  int* first = nullptr;
  EXPECT_EQ(ring.steal_half_into(mine, first), 2u);
  EXPECT_EQ(first, some[0]);
  EXPECT_EQ(mine.size(), 8u);
  EXPECT_EQ(ring.steal_half_into(mine, first), 1u);
  EXPECT_EQ(first, some[2]);
}

TEST(work_ring, the_owner_can_take_half_of_its_items) {
  small_ring ring;
  items some(8);
  for (std::size_t i = 0; i < 8; ++i) ASSERT_TRUE(ring.push(some[i]));
  int* out[8] = {};
  EXPECT_EQ(ring.take_half(out, 8), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], some[i]);
  EXPECT_EQ(ring.take_half(out, 1), 1u);
  EXPECT_EQ(out[0], some[4]);
  EXPECT_EQ(ring.size(), 3u);
}

TEST(work_ring, one_to_one) {
  constexpr int count = 100'000;
  items some(count);
  work_ring<int, 64> ring;
  thread thief([&] {
    work_ring<int, 64> mine;
    for (int expected = 0; expected < count;) {
      int* item = nullptr;
      if (ring.steal_half_into(mine, item) == 0) std::this_thread::yield();
      for (; item != nullptr; item = mine.pop()) ASSERT_EQ(*item, expected++);
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    while (!ring.push(some[i])) std::this_thread::yield();
  }
  thief.join();
  EXPECT_TRUE(ring.empty());
}

// The owner pushes, pops and overflows while thieves steal from it and from each other. Each item
// comes out once. The items are plain integers, because the thread that gets one owns it alone.
TEST(work_ring, stampede) {
  constexpr std::size_t thieves = 3;
  constexpr int count = 60'000;
  items some(count);
  std::vector<std::unique_ptr<work_ring<int, 16>>> rings;
  for (std::size_t i = 0; i <= thieves; ++i)
    rings.push_back(std::make_unique<work_ring<int, 16>>());
  atomic<int> handled{0};
  const auto handle = [&](int* item) {
    *item = -*item - 1;  // handling it twice would be noticed
    // [handled] relaxed: counts only.
    handled.fetch_add(1, relaxed);
  };

  std::vector<thread> threads;
  for (std::size_t self = 1; self <= thieves; ++self) {
    threads.emplace_back([&, self] {
      // [handled] relaxed: as above.
      for (std::size_t victim = 0; handled.load(relaxed) < count; ++victim %= rings.size()) {
        if (victim == self) continue;
        int* item = nullptr;
        if (rings[victim]->steal_half_into(*rings[self], item) == 0) std::this_thread::yield();
        for (; item != nullptr; item = rings[self]->pop()) handle(item);
      }
    });
  }
  work_ring<int, 16>& ring = *rings[0];
  for (std::size_t i = 0; i < count; ++i) {
    while (!ring.push(some[i])) {
      int* out[8];
      const std::size_t taken = ring.take_half(out, 8);
      for (std::size_t n = 0; n < taken; ++n) handle(out[n]);
    }
    if (i % 3 == 0) {
      if (int* item = ring.pop()) handle(item);
    }
  }
  while (int* item = ring.pop()) handle(item);
  for (thread& one : threads) one.join();
  EXPECT_EQ(handled.load(relaxed), count);
  for (int i = 0; i < count; ++i) ASSERT_EQ(some.all[static_cast<std::size_t>(i)], -i - 1);
}

// One thread pushes and then looks for a sleeper; the other announces its sleep and then looks at
// the ring. At least one of them sees the other.
TEST(work_ring, a_push_and_a_sleeper_do_not_miss_each_other) {
  constexpr int rounds = 10'000;
  const auto wait_for = [](const atomic<int>& word, int value) {
    // [round], [looked] acquire: what was done before the value was stored is visible.
    for (int spins = 0; word.load(acquire) != value; ++spins) {
      if (spins < 1000) {
        cpu_relax();
      } else {
        std::this_thread::yield();
      }
    }
  };
  items some(1);
  work_ring<int, 8> ring;
  atomic<bool> asleep{false};
  atomic<int> round{0};
  bool seen_empty = false;
  atomic<int> looked{0};
  thread sleeper([&] {
    for (int i = 1; i <= rounds; ++i) {
      wait_for(round, i);
      asleep.store(true, seq_cst);  // [idle]
      seen_empty = ring.empty();
      looked.store(i, release);  // [looked]
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    round.store(i, release);  // [round]
    ASSERT_TRUE(ring.push(some[0]));
    const bool seen_asleep = asleep.load(seq_cst);  // [idle]
    wait_for(looked, i);
    ASSERT_TRUE(seen_asleep || !seen_empty) << "in round " << i;
    ASSERT_EQ(ring.pop(), some[0]);
    asleep.store(false, relaxed);  // [round] orders it
  }
  sleeper.join();
}

}  // namespace
}  // namespace troupe
