// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/adaptive_spin.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/thread_number.hpp>

namespace troupe {

/// A mutex of 12 bytes. A thread spins before it sleeps, if spinning has recently succeeded and no
/// other thread sleeps yet.
///
/// Threads:   any. For std::lock_guard, std::unique_lock, std::scoped_lock.
/// Invariant: one holder at a time, which sees the effects of the previous holder. Not fair: a
///            running thread takes it before a sleeping one that has to be woken. May be destroyed
///            as soon as no thread holds it or waits for it.
/// Cost:      a compare-exchange to lock, an exchange to unlock; a system call only to sleep, and
///            to wake one of the sleeping threads.
/// Errors:    unlocking a mutex that the thread does not hold, and locking one that it already
///            holds, print to stderr and abort the process.
class adaptive_mutex {
 public:
  constexpr adaptive_mutex() noexcept = default;
  adaptive_mutex(const adaptive_mutex&) = delete;
  adaptive_mutex& operator=(const adaptive_mutex&) = delete;

  void lock() noexcept {
    const word mine = held_by_this_thread();
    if (!take(mine)) (void)lock_slowly(mine, nullptr);
  }

  [[nodiscard]] bool try_lock() noexcept { return take(held_by_this_thread()); }

  /// Returns false if the mutex was not free before the deadline.
  [[nodiscard]] bool try_lock_until(time_point deadline) noexcept {
    const word mine = held_by_this_thread();
    return take(mine) || lock_slowly(mine, &deadline);
  }

  void unlock() noexcept {
    const word mine = held_by_this_thread();
    // [mutex] release: the effects of the critical section, for the next holder's acquire.
    const word before = state_.exchange(free, release);
    if (before != mine) unlock_slowly(before, mine);
  }

 private:
  // `free`, or the number of the thread that holds it and whether others may sleep. The transitions
  // are in src/sync/README.md.
  using word = std::uint32_t;
  static constexpr word free = 0;
  static constexpr word sleepers = 1;
  static constexpr unsigned holder_shift = 1;

  static word held_by_this_thread() noexcept { return this_thread_number() << holder_shift; }

  bool take(word as) noexcept {
    word found = free;
    // [mutex] acquire: the effects of the last holder. Relaxed on failure: nothing was read.
    return state_.compare_exchange_strong(found, as, acquire, relaxed);
  }
  bool lock_slowly(word mine, const time_point* deadline) noexcept;
  bool is_known_to_be_waited_for(word& found) noexcept;
  void unlock_slowly(word before, word mine) noexcept;

  // The maximum spinning time is some microseconds, which is less than sleeping and waking. A
  // thread checks the word only after each `spin_gap` pauses, a quarter of that time. If it checked
  // more often, a holder that locks and unlocks repeatedly would have to fetch the cache line back
  // each time; so it keeps the line for the gap.
  static constexpr std::uint32_t spin_most = 64;
  static constexpr std::uint32_t spin_gap = 16;

  atomic<word> state_{free};
  adaptive_spin spin_{spin_most};
};

}  // namespace troupe
