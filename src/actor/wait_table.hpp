// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <troupe/actor/ask_future.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/base/clock.hpp>

namespace troupe::detail {

/// The waits of one actor's handlers: for replies and points in time. Each waiter has a place. A
/// generation, called turn, distinguishes a late reply from one for the current waiter in that
/// place.
///
/// An actor that asks often does not read the clock each time, which would be a sixth of a
/// request's cost. From the hurry_after-th read within hurry_within on, a long time-out begins at
/// the next read, which comes at most hurry_lasts later. So it may expire that much too late, never
/// too early. Most requests are answered before that, and the clock is never read for them.
///
/// Threads: the actor's turn only.
/// Cost:    add() and remove(): a few instructions, and a binary-heap step for each doubling of the
///          number of waiters that were added earlier and expire later: no step if all have the
///          same time-out. 32 bytes for each simultaneous waiter; that memory is kept.
class wait_table {
 public:
  static constexpr std::uint32_t hurry_after = 32;
  static constexpr duration hurry_within = std::chrono::milliseconds(1);
  static constexpr duration hurry_lasts = std::chrono::milliseconds(4);
  static constexpr duration long_time = std::chrono::milliseconds(100);

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  /// Adds a waiter. Throws std::bad_alloc.
  waiting_place add(waiter& who, time_point until) {
    const std::uint32_t place = occupy(who);
    entry& e = entries_[place];
    e.until = until;
    e.at = none;
    if (until != time_point::max()) into_heap(place);
    return {place, e.turn};
  }

  /// True if a time-out of this length may be added without reading the clock.
  [[nodiscard]] bool hurries_with(duration time) const noexcept {
    return in_hurry_ && time >= long_time && time != no_timeout;
  }

  /// The same for a time-out that begins when begin_all() is called. Throws std::bad_alloc.
  waiting_place add_to_begin(waiter& who, duration time) {
    const std::uint32_t place = occupy(who);
    entry& e = entries_[place];
    e.until = time_point(time);
    e.at = to_begin;
    if (!e.is_listed) {
      e.is_listed = true;
      to_begin_.push_back(place);  // there is room: grow() reserved it
    }
    ++looks_;
    return {place, e.turn};
  }

  /// Reports that the clock was read for a time-out. If it returns true, later reads are not
  /// needed, provided that begin_all() is called within hurry_lasts; otherwise no_hurry() must be
  /// called at once.
  [[nodiscard]] bool looked(time_point now) noexcept {
    if (in_hurry_) return false;
    if (now - looks_from_ > hurry_within) {
      looks_from_ = now;
      looks_ = 0;
    }
    in_hurry_ = ++looks_ == hurry_after;
    return in_hurry_;
  }

  /// Undoes a true result of looked().
  void no_hurry() noexcept {
    in_hurry_ = false;
    looks_ = 0;
  }

  /// Starts all pending time-outs, now if not earlier. If it returns true, call it again within
  /// hurry_lasts.
  bool begin_all(time_point now) noexcept {
    for (const std::uint32_t place : to_begin_) {
      entry& e = entries_[place];
      e.is_listed = false;
      if (e.at != to_begin) continue;  // it has been removed; its place may have been reused
      e.until = later(now, e.until.time_since_epoch());
      e.at = none;
      if (e.until != time_point::max()) into_heap(place);
    }
    to_begin_.clear();
    in_hurry_ = in_hurry_ && looks_ >= hurry_after;
    looks_ = 0;
    looks_from_ = now;
    return in_hurry_;
  }

  /// Removes and returns the waiter in that place; null if it no longer waits.
  [[nodiscard]] waiter* take(const waiting_place& at) noexcept {
    if (at.place >= entries_.size() || entries_[at.place].turn != at.turn) return nullptr;
    waiter* const who = entries_[at.place].who;
    remove(at.place);
    return who;
  }

  /// Call when the waiter has moved in memory.
  void moved(const waiting_place& at, waiter& to) noexcept { entries_[at.place].who = &to; }

  /// Makes the waiter expire no later than `until`. False: it expires by then anyway.
  bool shorten(const waiting_place& at, time_point until) noexcept {
    entry& e = entries_[at.place];
    if (e.at == to_begin) {
      until = std::min(until, later(clock::now(), e.until.time_since_epoch()));
    } else if (e.until <= until && (e.at != none || until == time_point::max())) {
      return false;
    }
    leave_heap(e);
    e.until = until;
    into_heap(at.place);
    return true;
  }

  /// Removes and returns the waiter that expires first, if it is due.
  [[nodiscard]] waiter* take_due(time_point now) noexcept {
    if (heap_.empty() || entries_[heap_.front()].until > now) return nullptr;
    waiter* const who = entries_[heap_.front()].who;
    remove(heap_.front());
    return who;
  }

  /// When the first waiter expires; time_point::max() if the table has no time-out.
  [[nodiscard]] time_point next_due() const noexcept {
    return heap_.empty() ? time_point::max() : entries_[heap_.front()].until;
  }

  /// When the actor will check the table, whatever is in it.
  time_point alarm_at = time_point::max();

 private:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  static constexpr std::uint32_t to_begin = none - 1;  // values from here on mean: not in the heap

  struct entry {
    waiter* who = nullptr;
    time_point until{};  // while pending: the time-out's length, from the clock's epoch
    std::uint32_t turn = 1;
    std::uint32_t at = none;  // index in the heap; or to_begin
    std::uint32_t next_free = none;
    bool is_listed = false;  // in to_begin_: from when it first became pending until begin_all()
  };
  static_assert(sizeof(entry) == 32);

  // Throws std::bad_alloc.
  std::uint32_t occupy(waiter& who) {
    if (free_ == none) [[unlikely]]
      grow();
    const std::uint32_t place = free_;
    entry& e = entries_[place];
    free_ = e.next_free;
    e.who = &who;
    ++count_;
    return place;
  }

  [[gnu::noinline]] void grow() {
    const std::size_t before = entries_.size();
    const std::size_t more = before == 0 ? 4 : before;
    heap_.reserve(before + more);
    to_begin_.reserve(before + more);
    entries_.resize(before + more);
    for (std::size_t i = before + more; i-- > before;) {
      entries_[i].next_free = std::exchange(free_, static_cast<std::uint32_t>(i));
    }
  }

  void remove(std::uint32_t place) noexcept {
    entry& e = entries_[place];
    leave_heap(e);
    e.at = none;
    e.who = nullptr;
    --count_;
    // A place whose turns are used up is never reused, so that no old reply can match it.
    if (++e.turn != 0) e.next_free = std::exchange(free_, place);
  }

  void into_heap(std::uint32_t place) noexcept {
    entry& e = entries_[place];
    e.at = static_cast<std::uint32_t>(heap_.size());
    heap_.push_back(place);  // there is room: grow() reserved it
    rise(e.at);
  }
  void leave_heap(const entry& e) noexcept {
    if (e.at < to_begin) leave_heap(e.at);
  }
  [[gnu::noinline]] void leave_heap(std::uint32_t at) noexcept {
    const std::uint32_t last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    put(at, last);
    rise(at);
    sink(entries_[last].at);
  }
  void put(std::uint32_t at, std::uint32_t place) noexcept {
    heap_[at] = place;
    entries_[place].at = at;
  }
  [[nodiscard]] bool before(std::uint32_t one, std::uint32_t other) const noexcept {
    return entries_[heap_[one]].until < entries_[heap_[other]].until;
  }
  void swap(std::uint32_t one, std::uint32_t other) noexcept {
    const std::uint32_t place = heap_[one];
    put(one, heap_[other]);
    put(other, place);
  }
  void rise(std::uint32_t at) noexcept {
    while (at != 0 && before(at, (at - 1) / 2)) {
      swap(at, (at - 1) / 2);
      at = (at - 1) / 2;
    }
  }
  void sink(std::uint32_t at) noexcept {
    for (;;) {
      std::uint32_t first = at;
      for (const std::uint32_t child : {2 * at + 1, 2 * at + 2}) {
        if (child < heap_.size() && before(child, first)) first = child;
      }
      if (first == at) return;
      swap(at, first);
      at = first;
    }
  }

  std::vector<entry> entries_;
  std::vector<std::uint32_t> heap_;      // places, by time
  std::vector<std::uint32_t> to_begin_;  // places, each once; some no longer pending
  time_point looks_from_{};
  std::uint32_t looks_ = 0;  // since then
  bool in_hurry_ = false;
  std::uint32_t free_ = none;
  std::uint32_t count_ = 0;
};

/// Call in the actor's turn: adds `who` to its actor's table, and schedules a check by that time.
/// Throws std::bad_alloc, with no effect.
[[nodiscard]] waiting_place begin_waiting(control_block& me, waiter& who, time_point until);
[[nodiscard]] waiting_place begin_waiting(control_block& me, waiter& who, duration time);

}  // namespace troupe::detail
