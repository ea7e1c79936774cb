// SPDX-License-Identifier: Apache-2.0
#include <troupe/base/assert.hpp>
#include <troupe/sync/adaptive_mutex.hpp>
#include <troupe/sync/futex.hpp>

// Three states, as in the second mutex of U. Drepper, «Futexes Are Tricky», 2004. The spin follows
// glibc's PTHREAD_MUTEX_ADAPTIVE_NP, but also learns from spins that fail. The state table is in
// README.md beside this file.

namespace troupe {

bool adaptive_mutex::lock_slowly(word mine, const time_point* deadline) noexcept {
  word found = state_.load(relaxed);  // [mutex] relaxed: take() checks again
  TROUPE_EXPECTS((found | sleepers) != (mine | sleepers),
                 "adaptive_mutex: locked again by the thread that holds it, which would deadlock");
  // If others sleep already, the mutex has too many waiters for spinning to pay off.
  const auto is_mine = [&] {
    return state_.load(relaxed) == free && take(mine);  // [mutex] relaxed: as above
  };
  const bool taken = (found & sleepers) == 0 && spin_.until(is_mine, spin_gap);
  if (taken) return true;
  // A thread that has slept cannot know whether it was the last sleeper, so it keeps the mark.
  for (word as = mine;; as = mine | sleepers) {
    while (!is_known_to_be_waited_for(found)) {
      if (found == free && take(as)) return true;
    }
    if (deadline == nullptr) {
      futex_wait(state_, found);
    } else if (futex_wait_until(state_, found, *deadline)) {
      return take(as);
    }
  }
}

// Makes sure that the holder of the mutex knows that other threads may sleep. Returns false if the
// mutex is free, or if the caller must try again.
bool adaptive_mutex::is_known_to_be_waited_for(word& found) noexcept {
  found = state_.load(relaxed);  // [mutex] relaxed: take() checks again
  if (found == free) return false;
  if ((found & sleepers) != 0) return true;
  // [mutex] relaxed: publishes nothing; it continues the release sequence of the last unlock().
  if (!state_.compare_exchange_weak(found, found | sleepers, relaxed, relaxed)) return false;
  found |= sleepers;
  return true;
}

void adaptive_mutex::unlock_slowly(word before, word mine) noexcept {
  TROUPE_EXPECTS(before == (mine | sleepers),
                 "adaptive_mutex: unlocked by a thread that does not hold it");
  futex_wake(state_, 1);
}

}  // namespace troupe
