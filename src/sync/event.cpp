// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/sync/adaptive_spin.hpp>
#include <troupe/detail/sync/event.hpp>
#include <troupe/detail/sync/futex.hpp>
#include <troupe/detail/sync/per_thread.hpp>

// The state table is in README.md beside this file.

namespace troupe {
namespace {

// Spinning adapts per thread: an event happens only once, but a thread waits for many events.
struct spin_of_events {
  adaptive_spin spin;
};

}  // namespace

void event::set() noexcept {
  // [event] release: publishes what the caller did before.
  if (state_.exchange(is, release) == waited_for) futex_wake(state_, UINT32_MAX);
}

bool event::wait_slowly(const time_point* deadline) noexcept {
  if (per_thread<spin_of_events>::here().spin.until([this] { return is_set(); })) return true;
  for (;;) {
    std::uint32_t found = is_not;
    // [event] acquire on failure: as in is_set(). Relaxed on success: setting the mark publishes
    // nothing.
    if (!state_.compare_exchange_strong(found, waited_for, relaxed, acquire) && found == is)
      return true;
    if (deadline == nullptr) {
      futex_wait(state_, waited_for);
    } else if (futex_wait_until(state_, waited_for, *deadline)) {
      return is_set();
    }
  }
}

}  // namespace troupe
