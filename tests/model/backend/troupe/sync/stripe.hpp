// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/per_process.hpp>
#include <troupe/sync/per_thread.hpp>

namespace troupe {
inline namespace checked {

// The interface of include/troupe/sync/stripe.hpp, with fewer stripes.
inline constexpr std::size_t stripes = 2;

struct threads_numbered {
  atomic<std::size_t> value{0};
};
struct number_for_stripes {
  std::size_t value = 0;  // 0: not numbered yet
};

/// The stripe of this thread: less than `stripes`. Threads that start one after another have
/// different stripes.
///
/// Cost: that of a thread_local.
[[nodiscard]] inline std::size_t this_stripe() noexcept {
  std::size_t& mine = per_thread<number_for_stripes>::here().value;
  if (__builtin_expect(mine == 0, 0)) {
    mine = per_process<threads_numbered>::here().value.fetch_add(1, relaxed) + 1;  // [counter]
  }
  return mine % stripes;
}

}  // namespace checked
}  // namespace troupe
