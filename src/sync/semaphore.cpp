// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <troupe/detail/sync/semaphore.hpp>

#include "base/accounts.hpp"

// The state table is in README.md beside this file.

namespace troupe {

namespace {

[[noreturn]] void refuse(std::uint64_t count, std::uint32_t permits) {
  throw std::logic_error(
      "semaphore: post(" + std::to_string(count) + ") to " + std::to_string(permits) +
      " available permits would exceed the maximum of " + std::to_string(semaphore::most()));
}

}  // namespace

semaphore::semaphore(std::uint32_t permits) { post(permits); }

semaphore::~semaphore() {
  if (detail::unsettled_account == nullptr) return;
  // [permit] relaxed: a thread that waits has to return before this, so that its change of the
  // count comes before this as well; a post() that is still under way does not change the count.
  const word waiting = state_.load(relaxed) & sleepers;
  detail::expect_settled("threads that wait for a semaphore", static_cast<std::int64_t>(waiting));
}

bool semaphore::post_slowly(word before) {
  if (permits_in(before) >= most()) {
    // This permit exceeds the limit. If another thread has taken it already, one of the other
    // most() permits is removed instead.
    // [permit] relaxed: publishes nothing.
    state_.fetch_sub(permit, relaxed);
    refuse(1, permits_in(before));
  }
  if ((before & closed) != 0) return false;
  promise();
  return true;
}

// Wakes a sleeper after a post. Other threads may have taken the permit or woken a sleeper
// meanwhile.
void semaphore::promise() noexcept {
  // [permit] relaxed: publishes nothing; it continues the release sequence of the post.
  word found = state_.load(relaxed);
  while (permits_in(found) > 0 && (found & sleepers) != 0 && (found & waking) == 0) {
    // [permit] relaxed: as for the load.
    if (!state_.compare_exchange_weak(found, found + waking - sleeper, relaxed, relaxed)) continue;
    asleep_.let_through(1);
    return;
  }
}

bool semaphore::post(std::uint32_t count) {
  // [permit] relaxed: the exchange checks again.
  word found = state_.load(relaxed);
  do {
    if (std::uint64_t{count} + permits_in(found) > most()) refuse(count, permits_in(found));
  } while (!try_add(found, count));
  return (found & closed) == 0;
}

bool semaphore::try_add(word& found, std::uint32_t count) noexcept {
  const bool wakes = count > 0 && (found & sleepers) != 0 && (found & waking) == 0;
  const word after = found + count * permit + (wakes ? waking - sleeper : 0);
  // [permit] release: as in post(). Relaxed on failure: the caller tries again.
  if (!state_.compare_exchange_weak(found, after, release, relaxed)) return false;
  if (wakes) asleep_.let_through(1);
  return true;
}

bool semaphore::try_wait(std::uint32_t count) noexcept {
  // [permit] relaxed: the exchange checks again.
  word found = state_.load(relaxed);
  while (permits_in(found) >= count) {
    if (count == 0) return true;
    // [permit] acquire: as in try_take_one().
    if (state_.compare_exchange_weak(found, found - count * permit, acquire, relaxed)) return true;
  }
  return false;
}

bool semaphore::is_closed() const noexcept {
  // [closed] acquire: makes visible what was done before close().
  return (state_.load(acquire) & closed) != 0;
}

void semaphore::close() noexcept {
  // [permit] relaxed: the exchange checks again.
  word found = state_.load(relaxed);
  do {
    if ((found & closed) != 0) return;
    // [closed] release: pairs with is_closed(), which may be called before any waiter is woken.
  } while (!state_.compare_exchange_weak(found, (found | closed) & ~sleepers, release, relaxed));
  const auto all = static_cast<std::uint32_t>(found & sleepers);
  if (all > 0) asleep_.let_through(all);
}

// Takes up to `wanted` permits. `spent` is the `waking` bit of a thread that was woken: if it
// leaves permits, it wakes the next sleeper.
bool semaphore::take_up_to(std::uint32_t& wanted, word& found, word spent) noexcept {
  while (permits_in(found) > 0) {
    const std::uint32_t takes = std::min(wanted, permits_in(found));
    const word left = (found - takes * permit) & ~spent;
    const bool wakes = permits_in(left) > 0 && (left & sleepers) != 0 && (left & waking) == 0;
    const word after = left + (wakes ? waking - sleeper : 0);
    // [permit] acquire: as in try_take_one().
    if (!state_.compare_exchange_weak(found, after, acquire, relaxed)) continue;
    if (wakes) asleep_.let_through(1);
    wanted -= takes;
    return true;
  }
  return false;
}

wait_result semaphore::wait_slowly(const time_point* deadline) noexcept {
  std::uint32_t wanted = 1;
  return take_some(wanted, deadline);
}

wait_result semaphore::take_some(std::uint32_t& wanted, const time_point* deadline) noexcept {
  word spent = 0;
  for (;;) {
    word found = 0;
    const bool taken = spin_.until([&] {
      // [permit] relaxed: the exchange checks again.
      found = state_.load(relaxed);
      return take_up_to(wanted, found, spent);
    });
    if (taken) return wait_result::taken;
    do {
      if (take_up_to(wanted, found, spent)) return wait_result::taken;
      if ((found & closed) != 0 && is_closed()) return wait_result::closed;
      // [permit] relaxed: publishes nothing; it continues the release sequence of the last post().
    } while (!state_.compare_exchange_weak(found, (found & ~spent) + sleeper, relaxed, relaxed));
    if (deadline == nullptr) {
      asleep_.pass();
    } else if (!asleep_.pass_until(*deadline)) {
      return give_up(wanted);
    }
    spent = waking;
  }
}

// The deadline has passed. Sleepers are interchangeable. If one of them has no wake-up promised,
// the count of sleepers drops by one. Otherwise the promise is for this thread, and its wake-up is
// certain to arrive.
wait_result semaphore::give_up(std::uint32_t& wanted) noexcept {
  word found = state_.load(relaxed);  // [permit] relaxed: the exchange checks again
  while ((found & sleepers) != 0) {
    const std::uint32_t takes = std::min(wanted, permits_in(found));
    // [permit] acquire: as in try_take_one().
    if (state_.compare_exchange_weak(found, found - takes * permit - sleeper, acquire, relaxed)) {
      wanted -= takes;
      return takes > 0 ? wait_result::taken : wait_result::timed_out;
    }
  }
  asleep_.pass();
  found = state_.load(relaxed);  // [permit] relaxed: the exchange checks again
  do {
    if (take_up_to(wanted, found, waking)) return wait_result::taken;
    if ((found & closed) != 0 && is_closed()) return wait_result::closed;
    // [permit] relaxed: as in take_some().
  } while (!state_.compare_exchange_weak(found, found & ~waking, relaxed, relaxed));
  return wait_result::timed_out;
}

wait_result semaphore::collect(std::uint32_t count, const time_point* deadline) {
  if (count > most()) {
    throw std::logic_error("semaphore: a wait for " + std::to_string(count) +
                           " permits exceeds the maximum of " + std::to_string(most()));
  }
  if (try_wait(count)) return wait_result::taken;
  std::unique_lock turn(collecting_, std::defer_lock);
  if (deadline == nullptr) {
    turn.lock();
  } else if (!collecting_.try_lock_until(*deadline)) {
    return wait_result::timed_out;
  } else {
    turn = std::unique_lock(collecting_, std::adopt_lock);
  }
  std::uint32_t wanted = count;
  wait_result result = wait_result::taken;
  while (wanted > 0 && result == wait_result::taken) result = take_some(wanted, deadline);
  if (wanted > 0 && wanted < count) {
    word found = state_.load(relaxed);  // [permit] relaxed: the exchange checks again
    while (!try_add(found, count - wanted)) {
    }
  }
  return result;
}

}  // namespace troupe
