// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe {

/// A one-time event that any number of threads may wait for.
///
/// Threads:   any.
/// Invariant: a thread that finds it set sees everything done before the first set(). May be
///            destroyed as soon as a thread has found it set and no other thread waits, even if
///            set() has not returned.
/// Cost:      a load if it is set; a system call only to sleep, and to wake sleeping threads.
class event {
 public:
  constexpr event() noexcept = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  void set() noexcept;

  [[nodiscard]] bool is_set() const noexcept {
    return state_.load(acquire) == is;  // [event] acquire: everything done before set()
  }

  void wait() noexcept {
    if (!is_set()) (void)wait_slowly(nullptr);
  }
  /// Returns false if the deadline passed.
  [[nodiscard]] bool wait_until(time_point deadline) noexcept {
    return is_set() || wait_slowly(&deadline);
  }

 private:
  enum state : std::uint32_t { is_not = 0, waited_for = 1, is = 2 };

  bool wait_slowly(const time_point* deadline) noexcept;

  atomic<std::uint32_t> state_{is_not};
};

}  // namespace troupe
