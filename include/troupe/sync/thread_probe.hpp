// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/base/clock.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe {
inline namespace native {

/// What a thread is about, as others see it.
///
/// Threads: begin_here() from the thread itself, the rest from any. Of a thread that has ended it says that it is blocked.
/// Cost:    a system call, a few with is_blocked().
class thread_probe {
 public:
  void begin_here() noexcept;

  /// How much it has computed so far; zero before begin_here().
  [[nodiscard]] duration cpu_time() const noexcept;

  /// It waits in the kernel; false if it computes, or would if there was a core for it. True, too, where the
  /// system does not tell.
  [[nodiscard]] bool is_blocked() const noexcept;

 private:
  atomic<int> thread_id_{0};
  atomic<int> cpu_clock_{0};
};

}  // namespace native
}  // namespace troupe
