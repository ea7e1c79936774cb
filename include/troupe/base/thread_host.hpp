// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace troupe::detail {

/// Who stands in for the clock and for sleep on one thread: a simulation. On other threads nobody does.
///
/// Threads: its own.
class thread_host {
 public:
  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const noexcept = 0;

  /// In the place of sleeping: lets others do something, and returns when there may be a reason to look again,
  /// at the deadline at the latest.
  virtual void sleep_until(std::chrono::steady_clock::time_point deadline) noexcept = 0;

  /// A block is asked for, and pool_asks_its_host() has been called. True: there is to be no memory for it.
  [[nodiscard]] virtual bool allocation_fails() noexcept { return false; }

  /// In the place of an address in a text, which is another one in each process: of what lies there, in the order
  /// in which it was first named. `generation`: of those that have lain there.
  [[nodiscard]] virtual std::uint64_t number_of(const void* what, std::uint32_t generation) = 0;

  /// Of this thread; usually null.
#if defined(__clang__)
  // As for per_thread: a coroutine may go on with it on another thread.
  [[nodiscard, gnu::noinline]] static thread_host*& here() noexcept {
    asm volatile("");
    return here_;
  }
#else
  [[nodiscard]] static thread_host*& here() noexcept { return here_; }
#endif

 protected:
  thread_host() = default;
  ~thread_host() = default;

 private:
  static constinit inline thread_local thread_host* here_ = nullptr;
};

}  // namespace troupe::detail
