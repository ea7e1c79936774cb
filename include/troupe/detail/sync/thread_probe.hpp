// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe {
inline namespace native {

/// Observes the state of a thread from other threads.
///
/// Threads: begin_here() from the thread itself, all else from any. is_blocked() is true for a
///          thread that has ended.
/// Cost:    a system call; a few for is_blocked().
class thread_probe {
 public:
  void begin_here() noexcept;

  /// Returns the CPU time used so far; zero before begin_here().
  [[nodiscard]] duration cpu_time() const noexcept;

  /// Returns true if the thread waits in the kernel, and false if it runs or is only waiting for a
  /// core. Also returns true if the operating system does not provide the information.
  [[nodiscard]] bool is_blocked() const noexcept;

  /// Returns true if the operating system has removed the thread: its thread-locals are destroyed,
  /// and join() returns at once. Returns false before begin_here(), and as long as another thread
  /// of this process has its number.
  [[nodiscard]] bool has_ended() const noexcept;

 private:
  atomic<int> thread_id_{0};
  atomic<int> cpu_clock_{0};
};

}  // namespace native
}  // namespace troupe
