// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/sync/atomic.hpp>

// The interface of include/troupe/sync/asymmetric.hpp, with memory orders that the checker knows.
// The code does the same where the kernel has no barrier for other threads.

namespace troupe {
inline namespace checked {

template <class T, class U>
U store_then_load_light(atomic<T>& mine, T value, const atomic<U>& theirs) noexcept {
  mine.store(value, seq_cst);
  return theirs.load(seq_cst);
}

template <class T, class U>
U store_then_load_lightest(atomic<T>& mine, T value, const atomic<U>& theirs) noexcept {
  mine.store(value, seq_cst);
  return theirs.load(seq_cst);
}
[[nodiscard]] inline bool process_barrier() noexcept { return true; }

inline void prepare_heavy_barrier() noexcept {}
[[nodiscard]] inline bool heavy_barrier() noexcept { return true; }

}  // namespace checked
}  // namespace troupe
