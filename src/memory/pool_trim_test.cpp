// SPDX-License-Identifier: Apache-2.0
//
// Which memory is returned to the system, and when. The tests do not wait: each call of pool_trim()
// stands for a round that would take place a second later.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <random>
#include <troupe/detail/memory/poison.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

#if defined(TROUPE_ASAN) || defined(__SANITIZE_THREAD__)
#define TROUPE_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TROUPE_TEST_SANITIZED 1
#endif
#endif

namespace {

// [news] relaxed in all uses: a counter.
[[maybe_unused]] troupe::atomic<std::size_t> news{0};

}  // namespace

#ifndef TROUPE_TEST_SANITIZED  // the sanitizers replace operator new themselves
void* operator new(std::size_t bytes) {
  news.fetch_add(1, troupe::relaxed);
  if (void* const got = std::malloc(bytes)) return got;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  news.fetch_add(1, troupe::relaxed);
  const auto to = static_cast<std::size_t>(align);
  if (void* const got = std::aligned_alloc(to, (bytes + to - 1) / to * to)) return got;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
#endif

namespace troupe {
namespace {

constexpr std::size_t megabyte = 1'000'000;

std::size_t resident() { return pool_used().resident; }

// Returns all memory that is free and not in a thread's cache. One round finds the free memory; the
// next one sees that it is still free.
void trim_all() {
  for (int rounds = 0; rounds < 3; ++rounds) (void)pool_trim();
}

struct message {
  explicit message(std::uint64_t n) : number(n), copy(n) {}

  message* next = nullptr;
  std::uint64_t number;
  std::uint64_t copy;
};

message* make(std::size_t bytes, std::uint64_t n) {
  return ::new (pool_allocate(bytes)) message(n);
}

// A backlog, linked through its messages.
class backlog {
 public:
  backlog(std::size_t bytes, std::size_t count) : bytes_(bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      message* const last = make(bytes, i);
      (last_ == nullptr ? first_ : last_->next) = last;
      last_ = last;
    }
  }
  backlog(const backlog&) = delete;
  backlog& operator=(const backlog&) = delete;
  ~backlog() { drain(); }

  // Handles the messages in the order in which they were made, and keeps those for which `keeps`
  // returns true.
  template <class Keeps>
  void drain(Keeps&& keeps) {
    for (message* m = std::exchange(first_, nullptr); m != nullptr;) {
      message* const next = m->next;
      if (!keeps(*m)) pool_release(m, bytes_);
      m = next;
    }
    last_ = nullptr;
  }
  void drain() {
    drain([](const message&) { return false; });
  }

 private:
  const std::size_t bytes_;
  message* first_ = nullptr;
  message* last_ = nullptr;
};

TEST(pool_trim, empty) {
  trim_all();
  const std::size_t before = pool_used().given_back;
  EXPECT_EQ(pool_trim(), pool_rest::nothing);
  EXPECT_EQ(pool_used().given_back, before);
}

TEST(pool_trim, returns_the_memory_of_a_burst) {
  for (const std::size_t bytes : {32u, 48u, 256u, 1024u, 5'000u, 65'600u}) {
    trim_all();
    const std::size_t before = resident();
    { backlog burst(bytes, 20 * megabyte / bytes); }
    EXPECT_GT(resident(), before + 15 * megabyte);
    EXPECT_EQ(pool_trim(), pool_rest::later) << "it may still be needed";
    EXPECT_EQ(pool_trim(), pool_rest::nothing);
    // Blocks in this thread's cache pin the chunks that they come from.
    EXPECT_LE(resident(), before + 300'000) << bytes;
  }
}

#ifndef TROUPE_TEST_SANITIZED  // their shadow memory and quarantine are resident, too
std::size_t resident_set() {
  std::size_t total = 0;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> total >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(pool_trim, the_resident_set_falls) {
  trim_all();
  const std::size_t before = resident_set();
  std::size_t high = 0;
  {
    backlog burst(32, 2'000'000);
    high = resident_set();
  }
  const std::size_t drained = resident_set();
  trim_all();
  const std::size_t after = resident_set();
  std::cout << "resident: " << before << " before, " << high << " at its highest, " << drained
            << " drained, " << after << " trimmed\n";
  EXPECT_GE(high, before + 60 * megabyte);
  EXPECT_LE(after, before + 2 * megabyte);
}

// The magazines of each thread are filled before counting begins.
TEST(pool_trim, a_producer_and_a_consumer_call_no_malloc) {
  constexpr std::size_t places = 8;
  for (const std::size_t bytes : {48u, 1'200u, 8'300u, 65'600u}) {
    std::array<atomic<void*>, places> way{};
    const auto run = [&](std::size_t count) {
      for (std::size_t n = 0; n < count; ++n) {
        void* const block = pool_allocate(bytes);
        std::memset(block, 1, bytes);
        // [place] release: the message is written.
        for (void* none = nullptr;
             !way[n % places].compare_exchange_weak(none, block, release, relaxed);
             none = nullptr) {
          std::this_thread::yield();
        }
      }
    };
    atomic<bool> enough{false};
    thread consumer([&] {
      // [enough] relaxed: nothing is published with it.
      for (std::size_t n = 0;; ++n) {
        void* block = nullptr;
        // [place] acquire: the message is written.
        while ((block = way[n % places].exchange(nullptr, acquire)) == nullptr) {
          if (enough.load(relaxed)) return;  // [enough]
          std::this_thread::yield();
        }
        pool_release(block, bytes);
      }
    });
    run(2'000);
    const std::size_t resident_before = resident();
    const std::size_t news_before = news.load(relaxed);
    const struct mallinfo2 malloc_before = ::mallinfo2();
    run(20'000);
    const struct mallinfo2 malloc_after = ::mallinfo2();
    EXPECT_EQ(news.load(relaxed), news_before) << bytes;
    EXPECT_EQ(malloc_after.uordblks, malloc_before.uordblks);
    EXPECT_EQ(malloc_after.hblks, malloc_before.hblks);
    // Fewer blocks may have been in use at first: the growth is at most all places and four
    // batches, in whole chunks. The largest messages together are a gigabyte.
    EXPECT_LE(resident(), resident_before + 2 * megabyte);
    enough.store(true, relaxed);  // [enough]
    consumer.join();
    for (atomic<void*>& place : way) {
      if (void* const left = place.load(relaxed)) pool_release(left, bytes);  // [place] joined
    }
  }
}
#endif

TEST(pool_trim, destroys_all) {  // the blocks of a thread that has ended
  trim_all();
  const std::size_t before = resident();
  thread([] {
    for (const std::size_t bytes : {32u, 700u, 9'000u, 65'600u}) backlog burst(bytes, 200);
  }).join();
  trim_all();
  EXPECT_EQ(resident(), before);
}

TEST(pool_trim, returned_memory_is_used_again) {
  for (int rounds = 0; rounds < 5; ++rounds) {
    {
      backlog burst(96, 50'000);
    }
    trim_all();
    backlog again(96, 50'000);
    std::uint64_t expected = 0;
    again.drain([&](const message& m) {
      EXPECT_EQ(m.number, expected);
      EXPECT_EQ(m.copy, expected++);
      return false;
    });
    EXPECT_EQ(expected, 50'000u);
  }
}

TEST(pool_trim, never_touches_a_block_in_use) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (const std::size_t bytes : {32u, 192u, 1'152u, 30'000u}) {
    std::vector<message*> kept;
    backlog burst(bytes, 30 * megabyte / bytes);
    burst.drain([&](message& m) {
      if (random() % 1'000 != 0) return false;
      std::memset(static_cast<void*>(&m + 1), 0x77, bytes - sizeof(message));
      kept.push_back(&m);
      return true;
    });
    trim_all();
    for (message* m : kept) {
      ASSERT_EQ(m->number, m->copy);
      const auto* rest = reinterpret_cast<const unsigned char*>(m + 1);
      for (std::size_t i = 0; i < bytes - sizeof(message); ++i) ASSERT_EQ(rest[i], 0x77);
      pool_release(m, bytes);
    }
  }
}

TEST(pool_trim, a_block_in_use_keeps_its_chunk_and_no_more) {
  trim_all();
  const std::size_t before = resident();
  std::vector<message*> kept;
  constexpr std::size_t apart = 12'800;  // a hundred chunks
  backlog burst(32, 1'000'000);
  burst.drain([&](message& m) {
    if (m.number % apart != 0) return false;
    kept.push_back(&m);
    return true;
  });
  trim_all();
  // One page per block, and one for the head of its slab.
  EXPECT_LE(resident(), before + 2 * 4096 * kept.size() + 100'000);
  for (message* m : kept) pool_release(m, 32);
  trim_all();
  EXPECT_LE(resident(), before + 2 * 4096 * 128);  // the last ones are in this thread's cache
}

TEST(pool_trim, new_blocks_fill_partly_used_chunks) {
  trim_all();
  std::vector<message*> kept;
  backlog burst(64, 500'000);
  burst.drain([&](message& m) {
    if (m.number % 64 != 0) return false;  // one in each chunk
    kept.push_back(&m);
    return true;
  });
  trim_all();
  const std::size_t scattered = resident();
  // The same number of blocks again fits beside the others.
  backlog more(64, 300'000);
  EXPECT_LE(resident(), scattered + 100'000);
  for (message* m : kept) pool_release(m, 64);
}

TEST(pool_trim, a_periodic_load_keeps_its_memory) {
  trim_all();
  const auto load = [] { backlog burst(128, 100'000); };
  load();
  (void)pool_trim();
  load();
  (void)pool_trim();
  const std::size_t before = pool_used().given_back;
  for (int rounds = 0; rounds < 10; ++rounds) {
    load();
    (void)pool_trim();
  }
  EXPECT_EQ(pool_used().given_back, before);
}

TEST(pool_trim, continues_where_it_stopped) {
  trim_all();
  const std::size_t before = resident();
  { backlog burst(256, 40'000); }
  EXPECT_EQ(pool_trim(), pool_rest::later);
  int calls = 0;
  while (pool_trim(10) == pool_rest::now) ++calls;
  EXPECT_GT(calls, 10);
  EXPECT_LE(resident(), before + 200'000);
}

struct listener final : surplus_listener {
  ~listener() { pool_unlisten(*this, false); }
  listener() { pool_listen(*this); }
  void on_surplus() noexcept override { ++told; }

  int told = 0;
};

TEST(pool_trim, notifies_a_listener_once_of_each_surplus) {
  trim_all();
  listener one;
  one.told = 0;
  listener other;
  { backlog little(384, 300); }
  EXPECT_EQ(one.told, 0) << "it is not worth a look";
  { backlog burst(32, 500'000); }
  { backlog burst(512, 20'000); }
  EXPECT_EQ(one.told, 1);
  trim_all();
  { backlog little(384, 300); }
  EXPECT_EQ(one.told, 1);
  { backlog burst(32, 500'000); }
  EXPECT_EQ(one.told, 2);
  EXPECT_EQ(other.told, 0);
  trim_all();
}

TEST(pool_trim, a_few_blocks_that_pin_many_chunks_are_a_surplus) {
  std::vector<message*> kept;
  {
    backlog burst(32, 1'000'000);
    burst.drain([&](message& m) {
      if (m.number % 1'000 != 0) return false;
      kept.push_back(&m);
      return true;
    });
  }
  trim_all();
  listener one;
  one.told = 0;
  ASSERT_LT(kept.size() * 32, 100'000u);
  for (message* m : kept) pool_release(m, 32);
  EXPECT_EQ(one.told, 1);
  trim_all();
}

TEST(pool_trim, many_to_one) {  // while other threads trim
  constexpr std::size_t senders = 2;
  constexpr std::size_t rounds = 20;
  atomic<message*> way{nullptr};
  atomic<bool> enough{false};
  thread trimmer([&] {
    // [enough] relaxed: nothing is published with it.
    while (!enough.load(relaxed)) (void)pool_trim(3);
  });
  std::vector<thread> threads;
  for (std::size_t s = 0; s < senders; ++s) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < rounds * 5'000; ++i) {
        message* const m = make(64, i);
        m->next = way.load(relaxed);  // [stack] as below
        // [stack] release: the message is written.
        while (!way.compare_exchange_weak(m->next, m, release, relaxed)) {
        }
      }
    });
  }
  for (std::size_t left = senders * rounds * 5'000; left > 0;) {
    // [stack] acquire: the messages are written.
    for (message* m = way.exchange(nullptr, acquire); m != nullptr; --left) {
      message* const next = m->next;
      ASSERT_EQ(m->number, m->copy);
      pool_release(m, 64);
      m = next;
    }
    std::this_thread::yield();
  }
  enough.store(true, relaxed);  // [enough]
  trimmer.join();
  for (thread& each : threads) each.join();
}

// Threads fill blocks of all sizes and check them later, while two other threads trim.
TEST(pool_trim, stampede) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  atomic<bool> enough{false};
  std::vector<thread> trimmers;
  for (int t = 0; t < 2; ++t) {
    trimmers.emplace_back([&] {
      // [enough] relaxed: nothing is published with it.
      while (!enough.load(relaxed)) {
        (void)pool_trim(20);
        std::this_thread::yield();
      }
    });
  }
  struct parcel {
    unsigned char* block;
    std::size_t bytes;
  };
  std::vector<thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed + t);
      std::vector<parcel> mine;
      const auto drop = [&](std::size_t count) {
        for (; count > 0 && !mine.empty(); --count) {
          std::swap(mine[random() % mine.size()], mine.back());
          const auto [block, bytes] = mine.back();
          mine.pop_back();
          ASSERT_EQ(block[0], static_cast<unsigned char>(t + 1));
          ASSERT_EQ(std::memcmp(block, block + 1, bytes - 1), 0);
          pool_release(block, bytes);
        }
      };
      for (int bursts = 0; bursts < 40; ++bursts) {
        const std::size_t bytes = 32 + random() % (random() % 8 == 0 ? 60'000 : 2'000);
        const std::size_t count = 1 + random() % (2'000'000 / bytes);
        for (std::size_t i = 0; i < count; ++i) {
          auto* const block = static_cast<unsigned char*>(pool_allocate(bytes));
          std::memset(block, static_cast<int>(t + 1), bytes);
          mine.push_back({block, bytes});
        }
        drop(mine.size() - mine.size() / 10);
      }
      drop(mine.size());
    });
  }
  for (thread& each : threads) each.join();
  enough.store(true, relaxed);  // [enough]
  for (thread& each : trimmers) each.join();
}

}  // namespace
}  // namespace troupe
