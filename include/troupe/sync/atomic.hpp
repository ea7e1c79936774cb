// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <troupe/sync/orders.hpp>

// Every atomic of the project goes through the names below, so that tests/model can put checked ones
// in their place: it has a header of the same name, and its folder comes first. The inline namespace
// keeps the two from being linked together by accident.

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
