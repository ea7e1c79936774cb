// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace troupe::detail {

/// Replaces the clock and sleeping on one thread, for a simulation. Other threads have no host.
///
/// Threads: its own.
class [[gnu::visibility("default")]] thread_host {
 public:
  [[nodiscard]] virtual std::chrono::steady_clock::time_point now() const noexcept = 0;

  /// Replaces sleeping: runs other work, and returns when there may be a reason to check again, at
  /// the latest at the deadline.
  virtual void sleep_until(std::chrono::steady_clock::time_point deadline) noexcept = 0;

  /// Called when a block is requested after pool_asks_its_host(). True: the allocation is to fail.
  [[nodiscard]] virtual bool allocation_fails() noexcept { return false; }

  /// Replaces an address in a text, because addresses differ between processes: a number for this
  /// object, in the order in which the objects were first named. `generation` distinguishes objects
  /// at the same address.
  [[nodiscard]] virtual std::uint64_t number_of(const void* what, std::uint32_t generation) = 0;

  /// The host of this thread; usually null.
#if defined(__clang__)
  // As for per_thread: a coroutine may continue on another thread with it.
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
