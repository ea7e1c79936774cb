// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <troupe/actor/asking.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/base/clock.hpp>

namespace troupe::detail {

/// What the handlers of one actor wait for: answers, and the end of a time. Each has a place; a
/// generation, called turn, tells an answer that comes late from that of who has the place now.
///
/// Threads: the actor's turn's.
/// Cost:    add() and remove(): a few instructions, and a step in a binary heap for each doubling of
///          those that end later and came before: none where all wait for the same time. 32 bytes for
///          each that waits at the same time; that memory is kept.
class wait_table {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  /// Throws std::bad_alloc.
  waiting_place add(waiter& who, time_point until) {
    if (free_ == none) grow();
    const std::uint32_t place = free_;
    entry& e = entries_[place];
    free_ = e.next_free;
    e.who = &who;
    e.until = until;
    if (until == time_point::max()) {
      e.at = none;
    } else {
      e.at = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(place);  // there is room: grow() saw to it
      rise(e.at);
    }
    ++count_;
    return {place, e.turn};
  }

  /// Who waits there; null if that is over. It is off the table then.
  [[nodiscard]] waiter* take(const waiting_place& at) noexcept {
    if (at.place >= entries_.size() || entries_[at.place].turn != at.turn) return nullptr;
    waiter* const who = entries_[at.place].who;
    remove(at.place);
    return who;
  }

  /// The waiter has moved.
  void moved(const waiting_place& at, waiter& to) noexcept { entries_[at.place].who = &to; }

  /// Its time is over sooner.
  void shorten(const waiting_place& at, time_point until) {
    entry& e = entries_[at.place];
    if (e.at != none) leave_heap(e.at);
    e.until = until;
    e.at = static_cast<std::uint32_t>(heap_.size());
    heap_.push_back(at.place);  // there is room: grow() saw to it
    rise(e.at);
  }

  /// The one whose time is over first, if it is; off the table.
  [[nodiscard]] waiter* take_due(time_point now) noexcept {
    if (heap_.empty() || entries_[heap_.front()].until > now) return nullptr;
    waiter* const who = entries_[heap_.front()].who;
    remove(heap_.front());
    return who;
  }

  /// When the first time is over; the end of time if there is none.
  [[nodiscard]] time_point next_due() const noexcept {
    return heap_.empty() ? time_point::max() : entries_[heap_.front()].until;
  }

  /// When the actor will look, whatever is on the table.
  time_point alarm_at = time_point::max();

 private:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

  struct entry {
    waiter* who = nullptr;
    time_point until{};
    std::uint32_t turn = 1;
    std::uint32_t at = none;  // in the heap
    std::uint32_t next_free = none;
  };

  void grow() {
    const std::size_t before = entries_.size();
    const std::size_t more = before == 0 ? 4 : before;
    heap_.reserve(before + more);
    entries_.resize(before + more);
    for (std::size_t i = before + more; i-- > before;) {
      entries_[i].next_free = std::exchange(free_, static_cast<std::uint32_t>(i));
    }
  }

  void remove(std::uint32_t place) noexcept {
    entry& e = entries_[place];
    if (e.at != none) leave_heap(e.at);
    e.who = nullptr;
    --count_;
    // A place whose turns are used up is left alone, lest an old answer fit it.
    if (++e.turn != 0) e.next_free = std::exchange(free_, place);
  }

  void leave_heap(std::uint32_t at) noexcept {
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
  std::vector<std::uint32_t> heap_;  // places, by time
  std::uint32_t free_ = none;
  std::uint32_t count_ = 0;
};

/// In its turn: has `who` wait in its actor's table, and its actor look at the time by then. Throws
/// std::bad_alloc, with nothing done.
[[nodiscard]] waiting_place begin_waiting(control_block& me, waiter& who, time_point until);

}  // namespace troupe::detail
