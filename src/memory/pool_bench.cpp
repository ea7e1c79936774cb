// SPDX-License-Identifier: Apache-2.0
//
// Compares the cost of a block with operator new for several sizes: allocated and released at once;
// a thousand allocated before they are released; released by another thread. Then measures the cost
// of returning memory to the system. Prints nanoseconds per pair.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <string_view>
#include <troupe/base/clock.hpp>
#include <troupe/detail/memory/pool.hpp>
#include <troupe/detail/memory/stable_pool.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <vector>

namespace {

using troupe::acquire;
using troupe::release;

struct header {
  troupe::atomic<std::uint64_t> generation{0};
};

template <std::size_t Bytes>
struct from_new {
  static constexpr const char* name = "operator new";
  static constexpr std::size_t bytes = Bytes;
  static void* take() { return ::operator new(Bytes); }
  static void give(void* block) { ::operator delete(block); }
};
template <std::size_t Bytes>
struct from_pool {
  static constexpr const char* name = "pool";
  static constexpr std::size_t bytes = Bytes;
  static void* take() { return troupe::pool_allocate(Bytes); }
  static void give(void* block) { troupe::pool_release(block, Bytes); }
};
struct from_stable_pool {
  static constexpr const char* name = "stable_pool";
  static constexpr std::size_t bytes = 128;
  static void* take() { return troupe::stable_pool<header>::take(bytes); }
  static void give(void* block) {
    troupe::stable_pool<header>::give_back(static_cast<header*>(block), bytes);
  }
};

void touch(void* block) { asm volatile("" : : "r"(block) : "memory"); }

template <class From, class Run>
void report(const char* what, std::size_t pairs, Run&& run) {
  const auto start = troupe::clock::now();
  run();
  const std::chrono::duration<double, std::nano> took = troupe::clock::now() - start;
  std::printf("%-26s %-12s %6zu bytes %9.2f ns\n", what, From::name, From::bytes,
              took.count() / static_cast<double>(pairs));
}

template <class From>
void at_once(std::size_t pairs) {
  report<From>("taken and released", pairs, [&] {
    for (std::size_t i = 0; i < pairs; ++i) {
      void* block = From::take();
      touch(block);
      From::give(block);
    }
  });
}

template <class From>
void a_thousand(std::size_t pairs) {
  std::vector<void*> blocks(1'000);
  report<From>("a thousand at a time", pairs, [&] {
    for (std::size_t i = 0; i < pairs; i += blocks.size()) {
      for (void*& block : blocks) touch(block = From::take());
      for (void* block : blocks) From::give(block);
    }
  });
}

// A hundred blocks are passed at a time, so that the cost of the channel is small.
template <class From>
void to_another_thread(std::size_t pairs) {
  constexpr std::size_t load = 100;
  using bundle = std::array<void*, load>;
  constexpr std::size_t places = 16;
  struct channel {
    std::array<bundle, places> bundles;
    alignas(64) troupe::atomic<std::size_t> sent{0};
    alignas(64) troupe::atomic<std::size_t> received{0};
  };
  const auto way = std::make_unique<channel>();
  report<From>("released by another thread", pairs, [&] {
    troupe::jthread consumer([&] {
      for (std::size_t n = 0; n < pairs / load; ++n) {
        // [sent] acquire: the bundle is written.
        while (way->sent.load(acquire) == n) std::this_thread::yield();
        for (void* block : way->bundles[n % places]) {
          touch(block);
          From::give(block);
        }
        // [received] release: the bundle is read.
        way->received.store(n + 1, release);
      }
    });
    for (std::size_t n = 0; n < pairs / load; ++n) {
      // [received] acquire: the slot of the channel is free.
      while (n - way->received.load(acquire) == places) std::this_thread::yield();
      for (void*& block : way->bundles[n % places]) touch(block = From::take());
      // [sent] release: the bundle is written.
      way->sent.store(n + 1, release);
    }
  });
}

template <class From>
void all(std::size_t pairs) {
  at_once<From>(pairs);
  a_thousand<From>(pairs);
  to_another_thread<From>(pairs);
}

template <std::size_t Bytes>
void both(std::size_t pairs) {
  all<from_new<Bytes>>(pairs);
  all<from_pool<Bytes>>(pairs);
}

// A backlog in memory that is new to the pool, and the cost of returning that memory.
void backlog(std::size_t count) {
  std::vector<void*> blocks(count);
  for (int rounds = 0; rounds < 3; ++rounds) {
    report<from_pool<32>>("backlog, from the system", count, [&] {
      for (void*& block : blocks) touch(block = from_pool<32>::take());
      for (void* block : blocks) from_pool<32>::give(block);
    });
    report<from_pool<32>>("backlog, given back", count, [] {
      (void)troupe::pool_trim();
      (void)troupe::pool_trim();
    });
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::string_view(arguments[1]) == "--smoke";
  const std::size_t pairs = smoke ? 10'000 : 20'000'000;
  both<64>(pairs);
  all<from_stable_pool>(pairs);
  both<1'024>(pairs);
  both<4'160>(pairs / 10);
  both<16'448>(pairs / 10);
  both<65'600>(pairs / 100);
  backlog(pairs / 2);
  const troupe::pool_usage used = troupe::pool_used();
  std::printf("pool: %zu bytes from the system, %zu given back in all\n", used.resident,
              used.given_back);
}
