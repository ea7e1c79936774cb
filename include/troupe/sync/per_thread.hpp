// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {
inline namespace native {

/// One T for each thread, for each Tag.
///
/// Cost: that of a thread_local which needs no initialisation at run time; T's default value must be
///       a constant. If T has a destructor, a check at each use. With Clang a call.
template <class T, class Tag = T>
class per_thread {
 public:
#if defined(__clang__)
  // Inlined into a coroutine, the address would be looked up once, and kept in the frame: Clang 16 takes it
  // for the same after a suspension, and the coroutine goes on another thread. The statement, which does
  // nothing, is what Clang may neither leave out nor do once for twice.
  [[nodiscard, gnu::noinline]] static T& here() noexcept {
    asm volatile("");
    return value_;
  }
#else
  [[nodiscard]] static T& here() noexcept { return value_; }
#endif

 private:
  static constinit inline thread_local T value_{};
};

}  // namespace native
}  // namespace troupe
