// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/sync/futex.hpp>
#include <troupe/detail/sync/turnstile.hpp>

namespace troupe::detail {

void turnstile::pass() noexcept {
  while (!take()) futex_wait(promises_, 0);
}

bool turnstile::pass_until(time_point deadline) noexcept {
  while (!take()) {
    if (futex_wait_until(promises_, 0, deadline)) return take();
  }
  return true;
}

void turnstile::let_through(std::uint32_t count) noexcept {
  // [promise] release: this is the last use of the turnstile's memory; a thread that passes may
  // destroy it.
  promises_.fetch_add(count, release);
  futex_wake(promises_, count);
}

bool turnstile::take() noexcept {
  // [promise] relaxed: the exchange checks again.
  std::uint32_t left = promises_.load(relaxed);
  while (left > 0) {
    // [promise] acquire: the thread that made the promise has finished with the turnstile. Relaxed
    // on failure: nothing was published.
    if (promises_.compare_exchange_weak(left, left - 1, acquire, relaxed)) return true;
  }
  return false;
}

}  // namespace troupe::detail
