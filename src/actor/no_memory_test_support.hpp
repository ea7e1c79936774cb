// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <new>
#include <thread>

#include <troupe/detail/base/thread_host.hpp>
#include <troupe/detail/memory/pool.hpp>

// Lets one allocation of this thread fail, so that a test can try each of those that an operation
// makes. The pool asks its host; malloc does where counted_allocations_test.hpp has replaced it,
// and so not under a sanitizer.

namespace troupe::test {

/// The allocation of this thread that fails, counted from here: 1 is the next one, 0 means that
/// none fails.
inline constinit thread_local std::uint64_t allocation_that_fails = 0;

[[nodiscard]] inline bool allocation_fails_now() noexcept {
  return allocation_that_fails != 0 && --allocation_that_fails == 0;
}

/// While it lives, the `which`-th allocation of this thread fails. Nothing may wait on this thread
/// meanwhile.
class failing_allocation final : detail::thread_host {
 public:
  explicit failing_allocation(std::uint64_t which) : before_(here()) {
    here() = this;
    detail::pool_asks_its_host(true);
    allocation_that_fails = which;
  }
  failing_allocation(const failing_allocation&) = delete;
  failing_allocation& operator=(const failing_allocation&) = delete;
  ~failing_allocation() {
    allocation_that_fails = 0;
    detail::pool_asks_its_host(false);
    here() = before_;
  }
  [[nodiscard]] static bool has_failed() noexcept { return allocation_that_fails == 0; }

 private:
  [[nodiscard]] std::chrono::steady_clock::time_point now() const noexcept override {
    return std::chrono::steady_clock::now();
  }
  void sleep_until(std::chrono::steady_clock::time_point) noexcept override {
    std::this_thread::yield();
  }
  [[nodiscard]] bool allocation_fails() noexcept override { return allocation_fails_now(); }
  [[nodiscard]] std::uint64_t number_of(const void*, std::uint32_t) override { return 0; }

  thread_host* const before_;
};

/// Calls `operation` again and again, each time with another allocation that fails, until none of
/// them does. `after_failure` is called in between, with memory. Returns how many have failed.
template <class Operation, class AfterFailure>
std::uint64_t with_each_allocation_failing(Operation&& operation, AfterFailure&& after_failure) {
  for (std::uint64_t which = 1;; ++which) {
    bool has_failed = false;
    {
      const failing_allocation memory(which);
      try {
        operation();
      } catch (const std::bad_alloc&) {
      }
      has_failed = failing_allocation::has_failed();
    }
    if (!has_failed) return which - 1;
    after_failure();
  }
}

}  // namespace troupe::test
