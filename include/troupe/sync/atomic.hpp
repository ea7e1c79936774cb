// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

// Every atomic of the project goes through the names below. They live in an inline namespace that
// a build may choose, so that code made for another implementation of them does not link with this
// one by accident.
#ifndef TROUPE_SYNC_NAMESPACE
#define TROUPE_SYNC_NAMESPACE native
#endif

namespace troupe {
inline namespace TROUPE_SYNC_NAMESPACE {

template <class T>
using atomic = std::atomic<T>;

inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

/// Tells the core that the caller is spinning.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace TROUPE_SYNC_NAMESPACE
}  // namespace troupe
