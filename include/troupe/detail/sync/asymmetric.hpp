// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/detail/sync/atomic.hpp>

// Asymmetric store-load synchronization. Two threads each store a word and then load the word of
// the other, and at least one of them must see the other's store. In general this takes seq_cst on
// all four accesses, and a locked instruction on both sides. If one side runs very often and the
// other rarely, the rare side can pay for both: it makes the kernel run a barrier in all running
// threads of the process (membarrier(2)), and the frequent side needs only a plain store.
//
//   often:   store_then_load_light(mine, value, theirs)
//   seldom:  theirs changed, seq_cst; heavy_barrier(); mine loaded, seq_cst
//
// Source: Dice, Huang, Yang: "Asymmetric Dekker Synchronization", Sun Microsystems 2001; P1202,
// "Asymmetric Fences".

namespace troupe {
inline namespace native {

/// Must be called before the other functions. Without this call, if the kernel refuses, and in
/// builds for tools that do not know the barrier, the light side uses seq_cst and the heavy side
/// does nothing.
void prepare_heavy_barrier() noexcept;

/// Set by prepare_heavy_barrier().
extern atomic<bool> has_process_barrier;

/// The light side: stores `value`, then loads `theirs`. Code after the call is ordered after the
/// load.
///
/// Cost: a store and a load.
template <class T, class U>
U store_then_load_light(atomic<T>& mine, T value, const atomic<U>& theirs) noexcept {
  if (has_process_barrier.load(relaxed)) [[likely]] {  // [barrier] relaxed: set before
    mine.store(value, release);
    // A fence for the compiler only: it keeps the order; the processor's barrier is issued by the
    // other side.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return theirs.load(acquire);
  }
  mine.store(value, seq_cst);
  return theirs.load(seq_cst);
}

/// Stores `value`, then loads `theirs`, for code that cannot afford to check whether the barrier
/// exists. Without a barrier, the order of the two is not guaranteed, and the other side must not
/// conclude anything.
///
/// Cost: a store and a load.
template <class T, class U>
U store_then_load_lightest(atomic<T>& mine, T value, const atomic<U>& theirs) noexcept {
  mine.store(value, release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return theirs.load(seq_cst);
}

/// The other side of store_then_load_lightest(). False if no barrier was issued, or none is
/// available.
[[nodiscard]] bool process_barrier() noexcept;

/// The heavy side. False if no barrier was issued; then nothing may be concluded. That happens only
/// if a system call filter was installed after the start.
///
/// Cost: a system call, and an interrupt of each other core that runs a thread of this process.
[[nodiscard]] bool heavy_barrier() noexcept;

}  // namespace native
}  // namespace troupe
