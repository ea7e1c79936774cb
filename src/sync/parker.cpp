// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/sync/futex.hpp>
#include <troupe/detail/sync/parker.hpp>

// The three states and the single subtraction are taken from the futex parker of Rust's standard
// library.
// The transition table is in README.md beside this file.

namespace troupe {

static_assert(static_cast<std::uint32_t>(-1) == 0xffff'ffff, "awake - 1 is asleep");

void parker::park() noexcept {
  // [wake] acquire: if this takes a token, what the notifier published before is visible.
  const auto before = state_.fetch_sub(1, acquire);
  TROUPE_ASSERT(before != asleep, "parker: parked by two threads");
  if (before == token) return;
  do {
    futex_wait(state_, asleep);
  } while (!take_token());
}

bool parker::park_until(time_point deadline) noexcept {
  // [wake] acquire: as in park().
  const auto before = state_.fetch_sub(1, acquire);
  TROUPE_ASSERT(before != asleep, "parker: parked by two threads");
  if (before == token) return true;
  do {
    if (futex_wait_until(state_, asleep, deadline)) {
      // [wake] acquire: a notification may have arrived together with the deadline.
      return state_.exchange(awake, acquire) == token;
    }
  } while (!take_token());
  return true;
}

void parker::park(adaptive_spin& spin) noexcept {
  if (!comes_soon(spin)) park();
}

bool parker::park_until(time_point deadline, adaptive_spin& spin) noexcept {
  return comes_soon(spin) || park_until(deadline);
}

bool parker::comes_soon(adaptive_spin& spin) noexcept {
  // [wake] relaxed: take_token() checks again.
  return spin.until([this] { return state_.load(relaxed) == token && take_token(); });
}

bool parker::notify() noexcept {
  // [wake] release: what the caller did before this is visible to the owner, whose acquire reads
  // the token. A second notify() continues the release sequence of the first.
  const auto before = state_.exchange(token, release);
  if (before != asleep) return false;
  futex_wake(state_, 1);
  return true;
}

bool parker::take_token() noexcept {
  std::uint32_t expected = token;
  // [wake] acquire: as in park(). Relaxed on failure: there is no token, so nothing was published.
  return state_.compare_exchange_strong(expected, awake, acquire, relaxed);
}

}  // namespace troupe
