// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <troupe/detail/memory/poison.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

#ifdef TROUPE_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace troupe {
namespace {

constexpr std::size_t some = 64 * 1024;

std::size_t resident() { return pool_used().resident; }

static_assert(detail::pool_class_of(0) == 0);
static_assert(detail::pool_class_of(32) == 0);
static_assert(detail::pool_class_of(33) == 1);
static_assert(detail::pool_class_of(1024) == 10);
static_assert(detail::pool_class_of(1025) == 11);
static_assert(detail::pool_class_of(64 * 1024 + 64) == detail::pool_sizes.size() - 1);

TEST(pool, a_class_is_the_smallest_that_fits) {
  for (std::size_t bytes = 0; bytes <= detail::pool_bytes_max; ++bytes) {
    const std::size_t index = detail::pool_class_of(bytes);
    ASSERT_GE(detail::pool_sizes[index], bytes);
    ASSERT_TRUE(index == 0 || detail::pool_sizes[index - 1] < bytes);
  }
}

TEST(pool, blocks_are_aligned_writable_and_distinct) {
  for (std::size_t bytes = 0; bytes <= 2400; bytes += 7) {
    std::set<void*> seen;
    for (int i = 0; i < 300; ++i) {
      void* block = pool_allocate(bytes);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u);
      std::memset(block, 0xab, bytes);
      ASSERT_TRUE(seen.insert(block).second);
    }
    for (void* block : seen) pool_release(block, bytes);
  }
}

TEST(pool, allocates_blocks_that_fit_no_class_outside_the_pool) {
  const std::size_t before = resident();
  void* large = pool_allocate(100'000);
  std::memset(large, 1, 100'000);
  pool_release(large, 100'000);
  void* aligned = pool_allocate(256, 256);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 256, 0u);
  pool_release(aligned, 256, 256);
  void* both = pool_allocate(100'000, 64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(both) % 64, 0u);
  pool_release(both, 100'000, 64);
  EXPECT_EQ(resident(), before);
}

TEST(pool, alignments_up_to_64_are_served_by_a_size_class) {
  for (const std::size_t align : {1u, 8u, 16u, 32u, 64u}) {
    for (const std::size_t bytes : {1u, 33u, 65u, 100u, 500u, 1000u, 1100u, 5000u, 65'600u}) {
      std::vector<void*> blocks;
      for (int i = 0; i < 20; ++i) {
        blocks.push_back(pool_allocate(bytes, align));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()) % align, 0u);
        std::memset(blocks.back(), 0x5a, bytes);
      }
      for (void* block : blocks) pool_release(block, bytes, align);
    }
  }
  void* aligned = pool_allocate(100, 64);
  pool_release(aligned, 100, 64);
  void* same = pool_allocate(128);
  EXPECT_EQ(same, aligned);
  pool_release(same, 128);
}

TEST(pool, large_blocks_keep_their_content) {
  for (const std::size_t bytes : detail::pool_sizes) {
    std::vector<unsigned char*> blocks;
    for (int i = 0; i < 40; ++i) {
      blocks.push_back(static_cast<unsigned char*>(pool_allocate(bytes)));
      std::memset(blocks.back(), i, bytes);
    }
    for (int i = 0; i < 40; ++i) {
      const unsigned char* block = blocks[static_cast<std::size_t>(i)];
      ASSERT_EQ(block[0], i);
      ASSERT_EQ(block[bytes - 1], i);
      ASSERT_EQ(std::memcmp(block, block + 1, bytes - 1), 0);
    }
    for (void* block : blocks) pool_release(block, bytes);
  }
}

TEST(pool, a_thread_keeps_no_more_than_two_of_the_largest_blocks) {
  constexpr std::size_t bytes = 64 * 1024;
  std::vector<void*> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(pool_allocate(bytes));
  const std::size_t before = pool_used().free;
  for (void* block : blocks) pool_release(block, bytes);
  EXPECT_GE(pool_used().free - before, 48 * bytes);
}

TEST(pool, order) {  // last in, first out: the block used last is in the cache
  void* a = pool_allocate(64);
  void* b = pool_allocate(64);
  pool_release(a, 64);
  pool_release(b, 64);
  EXPECT_EQ(pool_allocate(64), b);
  EXPECT_EQ(pool_allocate(64), a);
  pool_release(a, 64);
  pool_release(b, 64);
}

TEST(pool, blocks_are_used_again) {
  const auto round = [] {
    std::vector<void*> blocks;
    for (int i = 0; i < 10'000; ++i) blocks.push_back(pool_allocate(256));
    for (void* block : blocks) pool_release(block, 256);
  };
  round();
  const std::size_t before = resident();
  EXPECT_GE(before, 10'000u * 256u);
  for (int i = 0; i < 20; ++i) round();
  EXPECT_EQ(resident(), before);
}

TEST(pool, a_thread_leaves_its_blocks_to_others) {
  const auto round = [] {
    thread([] {
      std::vector<void*> blocks;
      for (int i = 0; i < 1'000; ++i) blocks.push_back(pool_allocate(512));
      for (void* block : blocks) pool_release(block, 512);
    }).join();
  };
  round();
  const std::size_t before = resident();
  for (int i = 0; i < 200; ++i) round();
  EXPECT_EQ(resident(), before);
}

// This thread allocates the block, so the first pool operation of the other thread is a release.
TEST(pool, a_thread_that_only_releases_leaves_its_blocks_to_others) {
  const auto round = [] {
    void* block = pool_allocate(768);
    thread([&] { pool_release(block, 768); }).join();
  };
  round();
  const std::size_t before = resident();
  for (int i = 0; i < 1'000; ++i) round();
  EXPECT_LE(resident(), before + some);
}

struct late_user {
  void use() {
    // Fills the depot with batches of several blocks.
    std::vector<void*> many;
    for (int i = 0; i < 500; ++i) many.push_back(pool_allocate(384));
    for (void* one : many) pool_release(one, 384);
    block = pool_allocate(384);
  }
  ~late_user() {
    if (block == nullptr) return;
    std::vector<void*> more;
    for (int i = 0; i < 100; ++i) more.push_back(pool_allocate(384));
    for (void* one : more) std::memset(one, 0xcd, 384);
    for (void* one : more) pool_release(one, 384);
    pool_release(block, 384);
  }

  void* block = nullptr;
};
thread_local late_user late;

TEST(pool, still_works_and_keeps_nothing_after_the_thread_closed_its_cache) {
  const auto round = [] {
    thread([] {
      late_user& first = late;  // constructed before the pool's thread_local, so destroyed after it
      first.use();
    }).join();
  };
  round();
  const std::size_t before = resident();
  for (int i = 0; i < 200; ++i) round();
  EXPECT_EQ(resident(), before);
}

struct message {
  message* next;
  std::uint64_t number;
  std::byte rest[48];
};

// A bounded channel; each slot holds one message.
class channel {
 public:
  static constexpr std::size_t places = 256;

  void put(std::size_t n, message* m) {
    // [place] release: the message is written.
    for (atomic<message*>& at = at_[n % places];; std::this_thread::yield()) {
      message* empty = nullptr;
      if (at.compare_exchange_strong(empty, m, release, relaxed)) return;
    }
  }
  message* get(std::size_t n) {
    // [place] acquire: as above.
    for (;; std::this_thread::yield()) {
      if (message* m = at_[n % places].exchange(nullptr, acquire)) return m;
    }
  }

 private:
  std::array<atomic<message*>, places> at_{};
};

TEST(pool, one_to_one) {  // released on another thread: memory stays bounded
  constexpr std::size_t count = 300'000;
  const auto way = std::make_unique<channel>();
  const std::size_t before = resident();
  thread consumer([&] {
    for (std::size_t n = 0; n < count; ++n) {
      message* m = way->get(n);
      ASSERT_EQ(m->number, n);
      pool_release(m, sizeof(message));
    }
  });
  for (std::size_t n = 0; n < count; ++n) {
    auto* m = static_cast<message*>(pool_allocate(sizeof(message)));
    m->number = n;
    way->put(n, m);
  }
  consumer.join();
  const std::size_t grown = resident() - before;
  std::cout << "sent " << count * sizeof(message) << " bytes, the pool grew by " << grown << "\n";
  EXPECT_LE(grown, 2 * some);
}

TEST(pool, many_to_one) {
  constexpr std::size_t senders = 3;
  constexpr std::size_t each = 50'000;
  const auto ways = std::make_unique<channel[]>(senders);
  const std::size_t before = resident();
  std::vector<thread> threads;
  for (std::size_t s = 0; s < senders; ++s) {
    threads.emplace_back([&, s] {
      for (std::size_t n = 0; n < each; ++n) {
        auto* m = static_cast<message*>(pool_allocate(sizeof(message)));
        m->number = n;
        ways[s].put(n, m);
      }
    });
  }
  for (std::size_t n = 0; n < each; ++n) {
    for (std::size_t s = 0; s < senders; ++s) {
      message* m = ways[s].get(n);
      ASSERT_EQ(m->number, n);
      pool_release(m, sizeof(message));
    }
  }
  for (thread& one : threads) one.join();
  EXPECT_LE(resident() - before, 3 * some);
}

// Threads exchange blocks of all sizes at random. If two threads owned a block at once, one would
// overwrite the other's data.
TEST(pool, stampede) {
  struct parcel {
    std::size_t bytes;
    std::uint64_t stamp;
  };
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::array<atomic<parcel*>, 64> shared{};
  const auto release_checked = [](parcel* p) {
    if (p == nullptr) return;
    const auto* bytes = reinterpret_cast<const unsigned char*>(p);
    for (std::size_t i = sizeof(parcel); i < p->bytes; ++i) {
      ASSERT_EQ(bytes[i], static_cast<unsigned char>(p->stamp)) << "at " << i;
    }
    pool_release(p, p->bytes);
  };
  std::vector<thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed + t);
      for (int i = 0; i < 20'000; ++i) {
        const bool large = random() % 16 == 0;
        const std::size_t bytes = sizeof(parcel) + random() % (large ? 66'000 : 1010);
        auto* mine = static_cast<parcel*>(pool_allocate(bytes));
        std::memset(static_cast<void*>(mine), static_cast<int>(t + 1), bytes);
        *mine = {bytes, t + 1};
        // [parcel] acq_rel: the block that is passed on is written; the received one can be read.
        release_checked(shared[random() % shared.size()].exchange(mine, acq_rel));
      }
    });
  }
  for (thread& one : threads) one.join();
  // [parcel] relaxed: the threads are joined.
  for (atomic<parcel*>& place : shared) release_checked(place.load(relaxed));
}

#ifdef TROUPE_ASAN
// The only pointer to the block itself is hidden, as in a mailbox.
[[gnu::noinline]] std::uintptr_t block_with_a_pointer() {
  auto** const block = static_cast<void**>(pool_allocate(64));
  *block = std::malloc(100);
  return ~reinterpret_cast<std::uintptr_t>(block);
}

TEST(pool, memory_referenced_from_a_block_is_not_reported_as_a_leak) {
  const std::uintptr_t hidden = block_with_a_pointer();
  EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
  auto** const block = reinterpret_cast<void**>(~hidden);
  std::free(*block);
  pool_release(block, 64);
}

TEST(pool, a_use_after_release_is_found) {
  EXPECT_DEATH(
      {
        auto* text = static_cast<volatile char*>(pool_allocate(64));
        pool_release(const_cast<char*>(text), 64);
        text[40] = 1;
      },
      "use-after-poison");
}
#endif

}  // namespace
}  // namespace troupe
