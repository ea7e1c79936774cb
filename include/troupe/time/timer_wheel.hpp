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
/// A slot above the lowest level reaches over 32 slots of the level below, and must be empty by the time it begins.
/// There is room for what is in it 32 slots before. So a full one begins to move down early, some of it each
/// tick, and timers that are due do not wait until all of it has moved. (Of more than 131,072 within 17 ms, the rest moves at
/// once.)
///
/// Threads:   one at a time.
/// Invariant: every node has a deadline after now. On its level it lies less than 64 slots ahead of now; above the
///            lowest one, it is not in the slot that now is in. Of one tick, what lies higher is older. Nine levels
///            reach further than the clock.
/// Cost:      insert() and remove(): O(1). A node moves down at most once per level. advance() and
///            next_expiry() skip empty slots with the bitmaps. 14 KiB and 24 bytes a timer.
class timer_wheel {
 public:
  static constexpr duration tick = std::chrono::nanoseconds{1 << 19};

  /// For each tick by which it begins to move a slot down early it moves 2^`pace` nodes: with 12 less than half of a tick's
  /// time is spent on that.
  explicit timer_wheel(time_point now, unsigned pace = 12) noexcept;
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

  /// What advance() has done.
  struct progress {
    std::size_t fired = 0;
    std::size_t moved = 0;  // down by a level
    [[nodiscard]] std::size_t steps() const noexcept { return fired + moved; }
  };

  /// Calls fired(timer_node&) for each node whose deadline has passed, in the order of deadlines,
  /// and in that of insertion within a tick. The node is out of the wheel by then: `fired` may
  /// insert it again, delete it, and insert and remove others, due ones too. What it inserts fires
  /// in the same call if it is due, but not before a later tick. After `most` steps it stops, and goes on where it was
  /// when it is called again.
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
      // Nothing is added to this slot meanwhile: what `fired` inserts is for a later tick.
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

  /// No later than the first deadline. Advancing to it fires a timer or brings some closer; for one timer alone that
  /// happens at most eight times before it fires.
  [[nodiscard]] std::optional<time_point> next_expiry() const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr unsigned slots = 64;  // of a level
  static constexpr unsigned reach = 5;   // a slot covers 2^5 of those below
  static constexpr unsigned levels = 9;

  struct event {
    unsigned level;
    unsigned slot;        // in slots_
    std::uint64_t begin;  // of the slot: tick
    std::uint64_t at;     // when something is to be done there: tick
  };

  static std::uint64_t tick_before(time_point at) noexcept;
  static std::uint64_t tick_after(time_point at) noexcept;

  unsigned level_of(std::uint64_t deadline) const noexcept;
  static unsigned place_of(std::uint64_t deadline, unsigned level) noexcept;
  void fill(unsigned place) noexcept;
  void empty(unsigned place) noexcept;
  /// Some nodes of its slot; all, if now has reached it.
  std::size_t move_down(const event& from, std::size_t most) noexcept;
  std::uint64_t moves_at(const timer_node& head, unsigned level,
                         std::uint64_t begin) const noexcept;

  /// A slot that is to be moved down, or the next one whose nodes fire. Of several at once one of the highest level.
  std::optional<event> first_event() const noexcept;

  std::uint64_t now_;  // tick
  const unsigned pace_;
  std::size_t size_ = 0;
  std::array<std::uint64_t, levels> occupied_{};  // a bit for each slot that is not empty
  // Heads of circular lists, level by level. Their deadline_ is a number of nodes, no less than there are: what is
  // removed stays in it until the slot is empty.
  std::array<timer_node, levels * slots> slots_;
};

}  // namespace troupe
