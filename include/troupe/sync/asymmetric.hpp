// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/sync/atomic.hpp>

// Two threads of which each says something and then looks what the other one has said: one of them at
// least must see the other. That takes seq_cst on all four accesses, and a locked instruction on both sides.
// Where one side does it all the time and the other hardly ever, the seldom one can pay for both: it
// has the kernel put a barrier into all threads of the process that run (membarrier(2)), and a plain
// store is enough for the others.
//
//   often:   store_then_load_light(mine, value, theirs)
//   seldom:  theirs changed, seq_cst; heavy_barrier(); mine loaded, seq_cst
//
// Source: Dice, Huang, Yang: "Asymmetric Dekker Synchronization", Sun Microsystems 2001; P1202, "Asymmetric
//         Fences".

namespace troupe {
inline namespace native {

/// To be called before the first of the others. Without it, where the kernel refuses, and in builds whose tools
/// do not know of it, the light side is seq_cst, and the heavy one does nothing.
void prepare_heavy_barrier() noexcept;

/// Set by prepare_heavy_barrier().
extern atomic<bool> has_process_barrier;

/// Cost: a store and a load. What comes after it in the program comes after the load.
template <class T, class U>
U store_then_load_light(atomic<T>& mine, T value, const atomic<U>& theirs) noexcept {
  if (has_process_barrier.load(relaxed)) [[likely]] {  // [barrier] relaxed: it is set before
    mine.store(value, release);
    // A fence for the compiler only: it keeps the order, and the barrier of the other side is the processor's.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return theirs.load(acquire);
  }
  mine.store(value, seq_cst);
  return theirs.load(seq_cst);
}

/// False if there was none: then nothing may be concluded. Only a filter for system calls, put in place after the
/// start, does that.
///
/// Cost: a system call, and an interrupt for each other core that runs a thread of this process.
[[nodiscard]] bool heavy_barrier() noexcept;

}  // namespace native
}  // namespace troupe
