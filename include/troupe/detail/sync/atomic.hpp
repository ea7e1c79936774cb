// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <troupe/detail/sync/orders.hpp>

// All atomics of the project use the names below, so that tests/model can replace them by checked
// ones: it has a header of the same name in a folder that comes first in the include path. The
// inline namespace prevents linking the two together by accident.

namespace troupe {
inline namespace native {

template <class T>
using atomic = std::atomic<T>;

/// Tells the core that the caller is spinning.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace native
}  // namespace troupe
