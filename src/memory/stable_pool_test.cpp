// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <set>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/memory/stable_pool.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define TROUPE_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TROUPE_TEST_TSAN 1
#endif
#endif

namespace troupe {
namespace {

constexpr std::uint64_t made = 0x5eed;

// Each test has a pool of its own.
template <int>
struct header {
  atomic<std::uint64_t> generation{made};
  std::uint64_t other = made + 1;
};

template <class Header>
void* body(Header* slot) {
  return slot + 1;
}

TEST(stable_pool, empty) {
  using pool = stable_pool<header<0>>;
  pool::for_each_slot([](auto&) { FAIL(); });
  EXPECT_EQ(pool::bytes(), 0u);
}

TEST(stable_pool, slots_are_aligned_writable_distinct_and_constructed) {
  using pool = stable_pool<header<1>>;
  for (std::size_t bytes = 1; bytes <= pool::bytes_max; bytes += 31) {
    std::set<header<1>*> seen;
    for (int i = 0; i < 100; ++i) {
      header<1>* slot = pool::take(bytes);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(slot) % 64, 0u);
      ASSERT_TRUE(seen.insert(slot).second);
      ASSERT_EQ(slot->generation.load(), made);
      ASSERT_EQ(slot->other, made + 1);
      if (bytes > sizeof(*slot)) std::memset(body(slot), 0xab, bytes - sizeof(*slot));
    }
    for (header<1>* slot : seen) pool::give_back(slot, bytes);
  }
}

TEST(stable_pool, a_header_outlives_its_owners) {
  using pool = stable_pool<header<2>>;
  std::set<header<2>*> seen;
  for (int round = 1; round <= 5; ++round) {
    std::vector<header<2>*> slots;
    for (int i = 0; i < 1'000; ++i) slots.push_back(pool::take(128));
    for (header<2>* slot : slots) {
      seen.insert(slot);
      slot->generation.fetch_add(1);
      std::memset(body(slot), 0xcd, 128 - sizeof(*slot));
    }
    for (header<2>* slot : slots) pool::give_back(slot, 128);
  }
  EXPECT_EQ(seen.size(), 1'000u);
  // The slots are free by now, and still readable.
  for (header<2>* slot : seen) {
    ASSERT_EQ(slot->generation.load(), made + 5);
    ASSERT_EQ(slot->other, made + 1);
  }
}

TEST(stable_pool, every_slot_is_visited_once) {
  using pool = stable_pool<header<3>>;
  std::set<header<3>*> taken;
  const auto bytes_of = [](int i) { return i % 2 == 0 ? std::size_t{128} : pool::bytes_max; };
  std::vector<header<3>*> slots;
  for (int i = 0; i < 5'000; ++i) {
    slots.push_back(pool::take(bytes_of(i)));
    taken.insert(slots.back());
  }
  for (int i = 0; i < 100; ++i) pool::give_back(slots[static_cast<std::size_t>(i)], bytes_of(i));
  std::set<header<3>*> visited;
  pool::for_each_slot([&](header<3>& slot) {
    EXPECT_TRUE(visited.insert(&slot).second);
    EXPECT_EQ(slot.other, made + 1);
  });
  for (header<3>* slot : taken) EXPECT_TRUE(visited.contains(slot));
}

TEST(stable_pool, a_slab_is_touched_as_it_is_used) {
  using pool = stable_pool<header<9>>;
  header<9>* slot = pool::take(128);
  EXPECT_GT(pool::bytes(), 200u * 1024);
  std::size_t touched = 0;
  pool::for_each_slot([&](auto&) { touched += 128; });
  EXPECT_LE(touched, 8u * 1024);
  pool::give_back(slot, 128);
}

// A thread that finds a slot may read these bytes, whether the slot is free or not.
TEST(stable_pool, the_kept_bytes_of_free_slots_stay_as_they_are) {
  constexpr std::size_t kept = 2 * sizeof(std::uint64_t);
  using pool = stable_pool<header<10>, kept>;
  for (const std::size_t bytes : {64u, 128u, 1024u}) {
    std::vector<header<10>*> slots;
    for (int i = 0; i < 1'000; ++i) {
      slots.push_back(pool::take(bytes));
      std::memset(body(slots.back()), 0xcd, kept);
    }
    for (header<10>* slot : slots) pool::give_back(slot, bytes);
    std::array<unsigned char, kept> expected;
    expected.fill(0xcd);
    for (header<10>* slot : slots) {
      ASSERT_EQ(std::memcmp(body(slot), expected.data(), kept), 0);
      ASSERT_EQ(slot->other, made + 1);
    }
  }
}

TEST(stable_pool, a_thread_leaves_its_slots_to_others) {
  using pool = stable_pool<header<4>>;
  const auto round = [] {
    thread([] {
      std::vector<header<4>*> slots;
      for (int i = 0; i < 500; ++i) slots.push_back(pool::take(256));
      for (header<4>* slot : slots) pool::give_back(slot, 256);
    }).join();
  };
  round();
  const std::size_t before = pool::bytes();
  for (int i = 0; i < 100; ++i) round();
  EXPECT_EQ(pool::bytes(), before);
}

struct late_user {
  ~late_user() {
    if (!armed) return;
    // The first use of this pool on this thread; the other pool's cache is closed already.
    auto* slot = stable_pool<header<5>>::take(384);
    stable_pool<header<5>>::give_back(slot, 384);
  }

  bool armed = false;
};
thread_local late_user late;

TEST(stable_pool, a_first_use_at_the_end_of_a_thread_keeps_nothing) {
  const auto round = [] {
    thread([] {
      late.armed = true;
      pool_release(pool_allocate(64), 64);
    }).join();
  };
  round();
  const std::size_t before = stable_pool<header<5>>::bytes();
  for (int i = 0; i < 1'000; ++i) round();
  EXPECT_EQ(stable_pool<header<5>>::bytes(), before);
}

// Threads pass slots to each other while other threads iterate. An iterating thread sees
// constructed headers only, and a generation never decreases.
TEST(stable_pool, stampede) {
  using pool = stable_pool<header<6>>;
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  struct parcel {
    header<6>* slot = nullptr;
    std::size_t bytes = 0;
  };
  atomic<bool> enough{false};
  std::array<atomic<header<6>*>, 32> shared{};
  std::vector<thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed + t);
      std::vector<parcel> mine;
      // [enough] relaxed: nothing is published with it.
      for (int i = 0; i < 20'000 || !enough.load(relaxed); ++i) {
        if (mine.size() < 400 && random() % 2 == 0) {
          const std::size_t bytes = 17 + random() % 500;
          header<6>* slot = pool::take(bytes);
          slot->generation.fetch_add(1);
          std::memset(body(slot), static_cast<int>(t), bytes - sizeof(*slot));
          mine.push_back({slot, bytes});
        } else if (!mine.empty()) {
          std::swap(mine[random() % mine.size()], mine.back());
          const auto [slot, bytes] = mine.back();
          mine.pop_back();
          const auto* first = static_cast<const unsigned char*>(body(slot));
          ASSERT_EQ(first[0], t);
          ASSERT_EQ(first[bytes - sizeof(*slot) - 1], t);
          pool::give_back(slot, bytes);
        }
        if (i % 100 == 0) {  // passed to another thread; always of one size
          header<6>* slot = pool::take(512);
          // [parcel] acq_rel: the slot is completely written.
          slot = shared[random() % shared.size()].exchange(slot, acq_rel);
          if (slot != nullptr) pool::give_back(slot, 512);
        }
      }
      for (const auto& [slot, bytes] : mine) pool::give_back(slot, bytes);
    });
  }
  std::size_t visited = 0;
  for (int walks = 0; walks < 300; std::this_thread::yield()) {
    std::size_t slots = 0;
    pool::for_each_slot([&](header<6>& slot) {
      ++slots;
      ASSERT_GE(slot.generation.load(), made);
      ASSERT_EQ(slot.other, made + 1);
    });
    ASSERT_GE(slots, visited);
    visited = slots;
    if (slots > 0) ++walks;
  }
  enough.store(true, relaxed);  // [enough]
  for (thread& one : threads) one.join();
  std::cout << visited << " slots\n";
}

#ifdef TROUPE_ASAN
TEST(stable_pool, a_use_after_give_back_is_found) {
  using pool = stable_pool<header<7>>;
  EXPECT_DEATH(
      {
        header<7>* slot = pool::take(128);
        auto* text = static_cast<volatile char*>(body(slot));
        pool::give_back(slot, 128);
        text[60] = 1;
      },
      "use-after-poison");
}
#elif !defined(TROUPE_TEST_TSAN)  // its shadow memory is resident, too
std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(stable_pool, a_million_small_slots_cost_at_most_130_megabytes) {
  using pool = stable_pool<header<8>>;
  constexpr std::size_t count = 1'000'000;
  std::vector<header<8>*> slots(count);
  const std::size_t before = resident_bytes();
  for (header<8>*& slot : slots) {
    slot = pool::take(128);
    std::memset(body(slot), 1, 128 - sizeof(*slot));
  }
  const std::size_t used = resident_bytes() - before;
  std::cout << used << " bytes resident for " << count << " slots\n";
  EXPECT_LE(used, 130'000'000u);
  for (header<8>* slot : slots) pool::give_back(slot, 128);
}
#endif

}  // namespace
}  // namespace troupe
