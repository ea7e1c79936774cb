// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <troupe/base/assert.hpp>
#include <troupe/base/clock.hpp>

namespace troupe {

/// What a timer inherits to be put into a timer_wheel.
class timer_node {
 public:
  timer_node() = default;
  timer_node(const timer_node&) = delete;
  timer_node& operator=(const timer_node&) = delete;

  /// True from insert() to remove() or firing.
  [[nodiscard]] bool linked() const noexcept { return next_ != nullptr; }

 private:
  friend class timer_wheel;

  timer_node* previous_ = nullptr;
  timer_node* next_ = nullptr;
  std::uint64_t deadline_ = 0;  // tick
};

/// Timers by deadline: a hierarchical timing wheel (Varghese and Lauck, «Hashed and hierarchical
/// timing wheels», SOSP 1987), with a bitmap of occupied slots for each level.
///
/// Time is counted in ticks of 2^19 ns, about half a millisecond. A deadline is rounded up to a
/// tick, and one that has passed counts as the tick after the last advance(): so a timer fires
/// never early, and late by up to a tick more than the caller of advance() is.
///
/// Threads:   one at a time.
/// Invariant: a node's slot follows from its deadline and now alone: on the level of the highest
///            digit (base 64) in which the two differ, in the slot of the deadline's digit. Every
///            node has a deadline after now. Eight levels reach further than the clock.
/// Cost:      insert() and remove(): O(1). A node moves down at most once per level. advance() and
///            next_expiry() skip empty slots with the bitmaps. 8 KiB and 24 bytes a timer.
class timer_wheel {
 public:
  static constexpr duration tick = std::chrono::nanoseconds{1 << 19};

  explicit timer_wheel(time_point now) noexcept;
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;

  /// Must be empty: advance(time_point::max(), ...) fires whatever is left.
  ~timer_wheel() { TROUPE_ASSERT(size_ == 0, "timer_wheel: destroyed with timers in it"); }

  /// While it is empty: begins anew at another time, which may be an earlier one.
  void restart(time_point now) noexcept;

  /// The node stays where it is until it fires or is removed.
  void insert(timer_node& node, time_point deadline) noexcept;

  /// Returns false if it was not in the wheel.
  bool remove(timer_node& node) noexcept;

  /// Calls fired(timer_node&) for each node whose deadline has passed, in the order of deadlines,
  /// and in that of insertion within a tick. The node is out of the wheel by then: `fired` may
  /// insert it again, delete it, and insert and remove others, due ones too. What it inserts fires
  /// in the same call if it is due, but not before a later tick. After `most` it stops, and goes on where it was
  /// when it is called again. Returns how many fired.
  template <class Fired>
  std::size_t advance(time_point now, Fired&& fired,
                      std::size_t most = std::numeric_limits<std::size_t>::max()) {
    const std::uint64_t target = tick_before(now);
    std::size_t count = 0;
    while (const auto at = first_occupied()) {
      if (at->start > target) break;
      now_ = at->start;
      if (at->level > 0) {
        cascade(*at);
        continue;
      }
      // Nothing is added to this slot meanwhile: what `fired` inserts is for a later tick.
      timer_node& head = slot(at->level, at->digit);
      while (head.next_ != &head) {
        if (count == most) return count;
        timer_node& due = *head.next_;
        remove(due);
        ++count;
        fired(due);
      }
    }
    now_ = std::max(now_, target);
    return count;
  }

  /// No later than the first deadline. Advancing to it fires a timer or brings a group of them
  /// closer; that happens at most seven times before a timer fires.
  [[nodiscard]] std::optional<time_point> next_expiry() const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr unsigned digit_bits = 6;
  static constexpr unsigned digits = 1u << digit_bits;
  static constexpr unsigned levels = 8;

  struct place {
    unsigned level;
    unsigned digit;
    std::uint64_t start;  // tick
  };

  static std::uint64_t tick_before(time_point at) noexcept;
  static std::uint64_t tick_after(time_point at) noexcept;

  timer_node& slot(unsigned level, unsigned digit) noexcept {
    return slots_[level * digits + digit];
  }
  unsigned level_of(std::uint64_t deadline) const noexcept;
  static unsigned digit_of(std::uint64_t deadline, unsigned level) noexcept;
  void link(timer_node& node) noexcept;
  void cascade(const place& from) noexcept;

  /// Its slot holds the first deadline: nodes of a lower level agree with now in more digits.
  std::optional<place> first_occupied() const noexcept;

  std::uint64_t now_;  // tick
  std::size_t size_ = 0;
  std::array<std::uint64_t, levels> occupied_{};   // a bit for each slot that is not empty
  std::array<timer_node, levels * digits> slots_;  // heads of circular lists
};

}  // namespace troupe
