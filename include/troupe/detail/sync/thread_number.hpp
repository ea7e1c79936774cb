// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/detail/sync/per_thread.hpp>

namespace troupe {
inline namespace native {

struct thread_number {
  std::uint32_t value = 0;  // 0: not requested yet
};

[[nodiscard]] std::uint32_t number_this_thread() noexcept;

/// Returns a number, not zero, that no other living thread of the process has.
///
/// Cost: that of a thread_local; a system call the first time.
[[nodiscard]] inline std::uint32_t this_thread_number() noexcept {
  const std::uint32_t known = per_thread<thread_number>::here().value;
  return __builtin_expect(known != 0, 1) ? known : number_this_thread();
}

}  // namespace native
}  // namespace troupe
