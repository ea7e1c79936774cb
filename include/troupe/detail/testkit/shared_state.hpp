// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/event_count.hpp>
#include <troupe/detail/sync/mutex.hpp>

namespace troupe::testkit::detail {

/// State shared by a test and an actor: a mutex, and a wait for changes made under it. In a
/// simulation the waiting test lets the actors run.
///
/// Threads: any.
class shared_state {
 public:
  [[nodiscard]] std::unique_lock<mutex> lock() const { return std::unique_lock(mutex_); }

  /// Must be called after each change, without the lock.
  void changed() noexcept { changes_.notify_all(); }

  /// Waits until `holds()`, which is called under the lock, returns true. False if it does not by
  /// then.
  template <class Condition>
  bool wait_until(std::unique_lock<mutex>& lock, time_point until, Condition holds) {
    while (!holds()) {
      // A change after this check takes the lock first, so its notification comes after the ticket.
      const event_count::ticket ticket = changes_.prepare_wait();
      lock.unlock();
      const bool has_changed = changes_.wait_until(ticket, until);
      lock.lock();
      if (!has_changed) return holds();
    }
    return true;
  }

 private:
  mutable mutex mutex_;
  event_count changes_;
};

}  // namespace troupe::testkit::detail
