// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <troupe/base/clock.hpp>
#include <troupe/sync/adaptive_mutex.hpp>
#include <troupe/sync/adaptive_spin.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/turnstile.hpp>

namespace troupe {

enum class wait_result : std::uint8_t {
  taken,
  timed_out,
  closed,  ///< there will be no more
};

/// Permits that some threads post and others take.
///
/// Threads:   any.
/// Invariant: each permit is taken once; whoever takes it sees what was done before it was posted. A close
///            loses none that is there: who waits takes what is left and is then told `closed`. Those that
///            sleep are woken one at a time, each by the one before if there is more to take.
/// Cost:      a read-modify-write to post and one to take; a system call only to sleep, and to wake who
///            sleeps, which nobody does while one who was woken has not looked yet. May be destroyed as
///            soon as nobody waits: a post() that a waiter has seen does not come back to it, if it was not
///            closed and nobody has given up at a deadline meanwhile.
/// Errors:    std::logic_error if there would be more than most() permits, or if so many are waited for.
class semaphore {
 public:
  explicit semaphore(std::uint32_t permits = 0);
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;

  static constexpr std::uint32_t most() noexcept { return 0x7fff'ffff; }

  /// Returns false if it is closed: whoever comes may still take them, but nobody sleeps until they do.
  bool post() {
    // [permit] release: what was done before, to whoever takes it.
    const word before = state_.fetch_add(permit, release);
    return is_done_with(before) || post_slowly(before);
  }
  bool post(std::uint32_t count);

  /// All of them or none.
  [[nodiscard]] bool try_wait(std::uint32_t count = 1) noexcept;

  [[nodiscard]] wait_result wait() noexcept {
    return try_take_one() ? wait_result::taken : wait_slowly(nullptr);
  }
  [[nodiscard]] wait_result wait_until(time_point deadline) noexcept {
    return try_take_one() ? wait_result::taken : wait_slowly(&deadline);
  }

  /// Takes several, as they come: who takes one at a time does not starve it. Of several that take several,
  /// one collects at a time. What it has collected is given back if it does not get all.
  [[nodiscard]] wait_result wait(std::uint32_t count) { return collect(count, nullptr); }
  [[nodiscard]] wait_result wait_until(std::uint32_t count, time_point deadline) {
    return collect(count, &deadline);
  }

  /// For good. Whoever waits is woken; whoever is told `closed` sees what was done before.
  void close() noexcept;

  [[nodiscard]] bool is_closed() const noexcept;

 private:
  // How many permits; whether it is closed; whether one was promised to be woken and has not looked yet; how
  // many sleep without a promise. The transitions are in src/sync/README.md.
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
    // [permit] relaxed: the exchange looks again.
    word found = state_.load(relaxed);
    // [permit] acquire: what was done before the post. Relaxed on failure: nothing was learnt.
    while (permits_in(found) > 0) {
      if (state_.compare_exchange_weak(found, found - permit, acquire, relaxed)) return true;
    }
    return false;
  }

  // Whether a post that has found this has nothing more to do.
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
