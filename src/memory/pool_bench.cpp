// SPDX-License-Identifier: Apache-2.0
//
// What a block costs, against operator new: taken and released at once; a thousand taken before
// they are released; released by another thread than took it. Prints nanoseconds for a pair.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <string_view>
#include <troupe/base/clock.hpp>
#include <troupe/memory/pool.hpp>
#include <troupe/memory/stable_pool.hpp>
#include <troupe/sync/thread.hpp>
#include <vector>

namespace {

using troupe::acquire;
using troupe::release;

struct header {
  troupe::atomic<std::uint64_t> generation{0};
};

struct from_new {
  static constexpr const char* name = "operator new";
  static void* take() { return ::operator new(64); }
  static void give(void* block) { ::operator delete(block); }
};
struct from_pool {
  static constexpr const char* name = "pool";
  static void* take() { return troupe::pool_allocate(64); }
  static void give(void* block) { troupe::pool_release(block, 64); }
};
struct from_stable_pool {
  static constexpr const char* name = "stable_pool";
  static void* take() { return troupe::stable_pool<header>::take(128); }
  static void give(void* block) {
    troupe::stable_pool<header>::give_back(static_cast<header*>(block), 128);
  }
};

void touch(void* block) { asm volatile("" : : "r"(block) : "memory"); }

template <class Run>
void report(const char* what, const char* who, std::size_t pairs, Run&& run) {
  const auto start = troupe::clock::now();
  run();
  const std::chrono::duration<double, std::nano> took = troupe::clock::now() - start;
  std::printf("%-28s %-14s %8.2f ns\n", what, who, took.count() / static_cast<double>(pairs));
}

template <class From>
void at_once(std::size_t pairs) {
  report("taken and released", From::name, pairs, [&] {
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
  report("a thousand at a time", From::name, pairs, [&] {
    for (std::size_t i = 0; i < pairs; i += blocks.size()) {
      for (void*& block : blocks) touch(block = From::take());
      for (void* block : blocks) From::give(block);
    }
  });
}

// A hundred blocks travel at a time, so that the channel costs little beside them.
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
  report("released by another thread", From::name, pairs, [&] {
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
      // [received] acquire: the place is free.
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

}  // namespace

int main(int count, char** arguments) {
  const bool smoke = count > 1 && std::string_view(arguments[1]) == "--smoke";
  const std::size_t pairs = smoke ? 10'000 : 50'000'000;
  all<from_new>(pairs);
  all<from_pool>(pairs);
  all<from_stable_pool>(pairs);
  std::printf("pool: %zu bytes from the system\n", troupe::pool_used().resident);
}
