// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/per_process.hpp>
#include <troupe/detail/sync/per_thread.hpp>

namespace troupe {
inline namespace native {

/// Data that all threads modify is kept in this number of copies, each on its own cache line; a
/// thread modifies one of them.
inline constexpr std::size_t stripes = 16;

struct threads_numbered {
  atomic<std::size_t> value{0};
};
struct number_for_stripes {
  std::size_t value = 0;  // 0: not assigned
};

/// Returns the stripe of this thread, which is less than `stripes`. Threads that are started
/// consecutively have different stripes.
///
/// Cost: that of a thread_local.
[[nodiscard]] inline std::size_t this_stripe() noexcept {
  std::size_t& mine = per_thread<number_for_stripes>::here().value;
  if (__builtin_expect(mine == 0, 0)) {
    mine = per_process<threads_numbered>::here().value.fetch_add(1, relaxed) + 1;  // [counter]
  }
  return mine % stripes;
}

}  // namespace native
}  // namespace troupe
