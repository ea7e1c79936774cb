// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "no_memory_test_support.hpp"
#include "test_support.hpp"

// Counts the allocations of a whole program, and lets one fail where a test asks for it: it
// replaces malloc, and with it operator new. One file of a program includes this header, which also
// adds a test that counting works. A sanitizer has its own malloc; then nothing is counted.

namespace troupe::test {

inline atomic<std::uint64_t> allocations{0};

}  // namespace troupe::test

#ifndef TROUPE_TEST_SANITIZED

// glibc's own functions, under the names that it provides for this purpose.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  troupe::test::allocations.fetch_add(1, std::memory_order_relaxed);
  if (troupe::test::allocation_fails_now()) return nullptr;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  troupe::test::allocations.fetch_add(1, std::memory_order_relaxed);
  if (troupe::test::allocation_fails_now()) return nullptr;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  troupe::test::allocations.fetch_add(1, std::memory_order_relaxed);
  if (troupe::test::allocation_fails_now()) return nullptr;
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  troupe::test::allocations.fetch_add(1, std::memory_order_relaxed);
  if (troupe::test::allocation_fails_now()) return nullptr;
  return __libc_memalign(alignment, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  troupe::test::allocations.fetch_add(1, std::memory_order_relaxed);
  if (troupe::test::allocation_fails_now()) return nullptr;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  troupe::test::allocations.fetch_add(1, std::memory_order_relaxed);
  *block = troupe::test::allocation_fails_now() ? nullptr : __libc_memalign(alignment, bytes);
  return *block != nullptr ? 0 : ENOMEM;
}
}

#endif

namespace troupe::test {

class of_allocations : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "the sanitizer has its own operator new";
  }

  // The minimum that `round` allocated in any of several rounds: caches of threads fill in the
  // first ones.
  template <class Round>
  static std::uint64_t least_of_some_rounds(Round&& round) {
    std::uint64_t least = static_cast<std::uint64_t>(-1);
    for (int i = 0; i < 20 && least != 0; ++i) {
      const std::uint64_t before = allocations.load(std::memory_order_relaxed);
      round();
      least = std::min(least, allocations.load(std::memory_order_relaxed) - before);
    }
    return least;
  }
};

TEST_F(of_allocations, are_counted) {
  const std::uint64_t before = allocations.load(std::memory_order_relaxed);
  int* volatile made = new int(1);
  delete made;
  void* volatile block = std::malloc(1);
  std::free(block);
  EXPECT_EQ(allocations.load(std::memory_order_relaxed) - before, 2u);
}

}  // namespace troupe::test
