// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/sync/atomic.hpp>

// What include/troupe/sync/asymmetric.hpp promises, by orders that the checker knows: it is what the code does
// where the kernel has no barrier for others.

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
