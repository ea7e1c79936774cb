// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/detail/sync/adaptive_mutex.hpp>
#include <troupe/detail/sync/adaptive_spin.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/turnstile.hpp>

namespace troupe {

enum class wait_result : std::uint8_t {
  taken,
  timed_out,
  closed,  ///< there will be no more permits
};

/// Permits that some threads post and others take.
///
/// Threads:   any.
/// Invariant: each permit is taken once; the thread that takes it sees everything done before it
///            was posted. Closing loses no permits: waiting threads take the remaining ones and
///            then get `closed`. Sleeping threads are woken one at a time; each wakes the next if
///            permits are left.
/// Cost:      a read-modify-write to post and one to take; a system call only to sleep, and to wake
///            a sleeping thread, which is skipped while a woken thread has not yet checked. May be
///            destroyed as soon as no thread waits: a post() whose permit a waiter has taken does
///            not access it again, unless it was closed or a waiter has given up at a deadline
///            meanwhile.
/// Errors:    std::logic_error if there would be more than most() permits, or if more are waited
///            for.
class semaphore {
 public:
  explicit semaphore(std::uint32_t permits = 0);
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  ~semaphore();

  static constexpr std::uint32_t most() noexcept { return 0x7fff'ffff; }

  /// Returns false if it is closed: permits can still be taken, but no thread will sleep until
  /// then.
  bool post() {
    // [permit] release: everything done before, for the thread that takes it.
    const word before = state_.fetch_add(permit, release);
    return is_done_with(before) || post_slowly(before);
  }
  bool post(std::uint32_t count);

  /// Takes all of them or none.
  [[nodiscard]] bool try_wait(std::uint32_t count = 1) noexcept;

  [[nodiscard]] wait_result wait() noexcept {
    return try_take_one() ? wait_result::taken : wait_slowly(nullptr);
  }
  [[nodiscard]] wait_result wait_until(time_point deadline) noexcept {
    return try_take_one() ? wait_result::taken : wait_slowly(&deadline);
  }

  /// Takes several permits as they become available, so threads that take one at a time do not
  /// starve it. Of several threads that take several permits, one collects at a time. It returns
  /// the permits collected so far if it does not get all.
  [[nodiscard]] wait_result wait(std::uint32_t count) { return collect(count, nullptr); }
  [[nodiscard]] wait_result wait_until(std::uint32_t count, time_point deadline) {
    return collect(count, &deadline);
  }

  /// Closes it for good and wakes all waiting threads. A thread that gets `closed` sees everything
  /// done before.
  void close() noexcept;

  [[nodiscard]] bool is_closed() const noexcept;

 private:
  // The number of permits; whether it is closed; whether a thread was promised a wake-up and has
  // not checked yet; the number of threads that sleep without such a promise. The transitions are
  // in src/sync/README.md.
  using word = std::uint64_t;
  static constexpr word sleeper = 1;
  static constexpr word sleepers = 0x3fff'ffff;
  static constexpr word waking = 0x4000'0000;
  static constexpr word closed = 0x8000'0000;
  static constexpr unsigned permit_shift = 32;
  static constexpr word permit = word{1} << permit_shift;

  static std::uint32_t permits_in(word state) noexcept {
    return static_cast<std::uint32_t>(state >> permit_shift);
  }

  bool try_take_one() noexcept {
    // [permit] relaxed: the exchange checks again.
    word found = state_.load(relaxed);
    // [permit] acquire: everything done before the post. Relaxed on failure: nothing was read.
    while (permits_in(found) > 0) {
      if (state_.compare_exchange_weak(found, found - permit, acquire, relaxed)) return true;
    }
    return false;
  }

  // Whether a post() that found this state has nothing more to do.
  static bool is_done_with(word before) noexcept {
    return ((before & sleepers) == 0 || (before & waking) != 0) && (before & closed) == 0 &&
           permits_in(before) < most();
  }
  bool post_slowly(word before);
  void promise() noexcept;
  bool try_add(word& found, std::uint32_t count) noexcept;
  bool take_up_to(std::uint32_t& wanted, word& found, word spent) noexcept;
  wait_result wait_slowly(const time_point* deadline) noexcept;
  wait_result take_some(std::uint32_t& wanted, const time_point* deadline) noexcept;
  wait_result give_up(std::uint32_t& wanted) noexcept;
  wait_result collect(std::uint32_t count, const time_point* deadline);

  atomic<word> state_{0};
  adaptive_spin spin_;
  detail::turnstile asleep_;
  adaptive_mutex collecting_;
};

}  // namespace troupe
