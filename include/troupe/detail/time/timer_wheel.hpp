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
#include <troupe/base/clock.hpp>
#include <troupe/detail/base/assert.hpp>

namespace troupe {

/// The base class of timers in a timer_wheel.
class timer_node {
 public:
  timer_node() = default;
  timer_node(const timer_node&) = delete;
  timer_node& operator=(const timer_node&) = delete;

  /// Returns true from insert() until remove() or until the timer fires.
  [[nodiscard]] bool linked() const noexcept { return next_ != nullptr; }

 private:
  friend class timer_wheel;

  timer_node* previous_ = nullptr;
  timer_node* next_ = nullptr;
  std::uint64_t deadline_ = 0;  // tick
};

/// Timers sorted by deadline: a hierarchical timing wheel (Varghese and Lauck, «Hashed and
/// hierarchical timing wheels», SOSP 1987), with a bitmap of occupied slots for each level.
///
/// Time is counted in ticks of 2^19 ns, about half a millisecond. A deadline is rounded up to a
/// tick, and a deadline in the past counts as the tick after the last advance(). So a timer never
/// fires early; it fires late by up to a tick, plus the delay of the caller of advance().
///
/// A slot above the lowest level covers the time of 32 slots of the level below, and must be empty
/// when that time begins. The level below has 64 slots, so it has room for these timers already 32
/// of its slots earlier. A slot with many timers therefore begins to move down early, a part of it
/// in each tick. Due timers need not wait until the whole slot has been moved. (If more than
/// 131,072 timers fall within 17 ms, the rest moves at once.)
///
/// Threads:   one at a time.
/// Invariant: every node has a deadline after now. On its level it is less than 64 slots ahead of
///            now; above the lowest level, it is not in the slot that contains now. Among nodes of
///            one tick, those on higher levels were inserted earlier. Nine levels reach further
///            than the clock.
/// Cost:      insert() and remove(): O(1). A node moves down at most once per level. advance() and
///            next_expiry() skip empty slots with the bitmaps. 14 KiB, and 24 bytes per timer.
class timer_wheel {
 public:
  static constexpr duration tick = std::chrono::nanoseconds{1 << 19};

  /// `pace`: when a slot begins to move down early, 2^`pace` nodes move for each tick that it
  /// starts ahead of time. With 12 this takes less than half of a tick's time.
  explicit timer_wheel(time_point now, unsigned pace = 12) noexcept;
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;

  /// Requires that the wheel is empty: advance(time_point::max(), ...) fires all remaining timers.
  ~timer_wheel() { TROUPE_ASSERT(size_ == 0, "timer_wheel: destroyed with timers in it"); }

  /// Restarts an empty wheel at another time, which may be earlier.
  void restart(time_point now) noexcept;

  /// The node must stay at its address until it fires or is removed.
  void insert(timer_node& node, time_point deadline) noexcept;

  /// Returns false if the node was not in the wheel.
  bool remove(timer_node& node) noexcept;

  /// The work done by one advance().
  struct progress {
    std::size_t fired = 0;
    std::size_t moved = 0;  // to a lower level
    [[nodiscard]] std::size_t steps() const noexcept { return fired + moved; }
  };

  /// Calls fired(timer_node&) for each node whose deadline has passed, in the order of deadlines,
  /// and within a tick in the order of insertion. The node has been removed by then: `fired` may
  /// insert it again, delete it, and insert and remove other nodes, including due ones. A node that
  /// it inserts fires in the same call if it is due, but in a later tick. After `most` steps the
  /// function returns, and the next call continues there.
  template <class Fired>
  progress advance(time_point now, Fired&& fired,
                   std::size_t most = std::numeric_limits<std::size_t>::max()) {
    const std::uint64_t target = tick_before(now);
    progress done;
    while (const auto next = first_event()) {
      if (next->at > target) break;
      now_ = std::max(now_, next->at);
      if (next->level > 0) {
        done.moved += move_down(*next, most - done.steps());
        if (done.steps() == most) return done;
        continue;
      }
      // This slot does not grow meanwhile: nodes that `fired` inserts belong to a later tick.
      timer_node& head = slots_[next->slot];
      while (head.next_ != &head) {
        if (done.steps() == most) return done;
        timer_node& due = *head.next_;
        remove(due);
        ++done.fired;
        fired(due);
      }
    }
    now_ = std::max(now_, target);
    return done;
  }

  /// A time not later than the first deadline. Advancing to it fires a timer or moves some to lower
  /// levels; a single timer moves at most eight times before it fires.
  [[nodiscard]] std::optional<time_point> next_expiry() const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr unsigned slots = 64;  // per level
  static constexpr unsigned reach = 5;   // a slot covers 2^5 slots of the level below
  static constexpr unsigned levels = 9;

  struct event {
    unsigned level;
    unsigned slot;        // in slots_
    std::uint64_t begin;  // of the slot, in ticks
    std::uint64_t at;     // when the slot must be processed, in ticks
  };

  static std::uint64_t tick_before(time_point at) noexcept;
  static std::uint64_t tick_after(time_point at) noexcept;

  unsigned level_of(std::uint64_t deadline) const noexcept;
  static unsigned place_of(std::uint64_t deadline, unsigned level) noexcept;
  void fill(unsigned place) noexcept;
  void empty(unsigned place) noexcept;
  /// Moves some nodes of the slot down; all of them if now has reached it.
  std::size_t move_down(const event& from, std::size_t most) noexcept;
  std::uint64_t moves_at(const timer_node& head, unsigned level,
                         std::uint64_t begin) const noexcept;

  /// The next slot to move down, or the next one whose nodes fire. Of several at the same time, one
  /// of the highest level.
  std::optional<event> first_event() const noexcept;

  std::uint64_t now_;  // tick
  const unsigned pace_;
  std::size_t size_ = 0;
  std::array<std::uint64_t, levels> occupied_{};  // one bit for each slot that is not empty
  // The heads of circular lists, level by level. Their deadline_ is an upper bound of the number of
  // nodes: removed nodes are counted until the slot is empty.
  std::array<timer_node, levels * slots> slots_;
};

}  // namespace troupe
