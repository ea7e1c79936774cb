// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {
inline namespace native {

/// One T for each thread and each Tag.
///
/// All shared libraries of a process share it if T has default visibility too; libraries compiled
/// with -fvisibility=hidden would each have their own.
///
/// Cost: a thread_local without dynamic initialization: T's default value must be a constant. If T
///       has a destructor, a check at each use. With Clang a function call.
template <class T, class Tag = T>
class [[gnu::visibility("default")]] per_thread {
 public:
#if defined(__clang__)
  // If this were inlined into a coroutine, the address would be computed once and kept in the
  // frame: Clang 16 assumes that it is unchanged after a suspension, but the coroutine may resume
  // on another thread. The asm statement has no effect, but prevents Clang from removing the call
  // or merging two calls.
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
