// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <troupe/base/assert.hpp>
#include <troupe/base/cache_line.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe {

/// The bounded run queue of one worker, from which other workers steal. First in, first out for
/// all: what waits longest runs next, wherever it runs. It is the run queue of Go's scheduler
/// (runtime/proc.go: runqput, runqget, runqgrab, runqputslow).
///
/// Threads:   push(), pop(), take_half() and the ring that is stolen into: the owner. Being stolen
///            from, empty() and size(): anybody.
/// Invariant: head ≤ tail ≤ head + Capacity, modulo 2^32. Only the owner writes slots and tail.
/// Cost:      push(): one store. pop(): one compare-exchange. Stealing half: one compare-exchange
///            on the victim, however many it takes.
template <class T, std::size_t Capacity = 256>
class work_ring {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "indices wrap with their type");
  static_assert(Capacity <= (std::size_t{1} << 30));

 public:
  static constexpr std::size_t capacity = Capacity;

  work_ring() = default;
  work_ring(const work_ring&) = delete;
  work_ring& operator=(const work_ring&) = delete;

  /// Returns false if full. The store that publishes is seq_cst, so that a push() followed by a
  /// seq_cst look for sleepers pairs with a sleeper that says so and then looks at empty(). Where
  /// nobody needs to be woken, release is enough.
  [[nodiscard]] bool push(T* item, std::memory_order publish = seq_cst) noexcept {
    // [ring-take] acquire: who took the item that was in this slot has read it.
    // [unchecked] It keeps a read there before the write here: without it that would be load
    // buffering, which the model checker does not show.
    const std::uint32_t head = head_.load(acquire);
    // [ring-put] relaxed: written by this thread.
    const std::uint32_t tail = tail_.load(relaxed);
    if (tail - head >= Capacity) return false;
    put(tail, item);
    // [ring-put] release at least: a thief that reads this tail reads the slot and the item.
    // [idle] seq_cst: a worker that goes to sleep sees this tail, or this thread sees the sleeper;
    // with release each could miss the other.
    tail_.store(tail + 1, publish);
    return true;
  }

  /// Returns null if empty.
  [[nodiscard]] T* pop() noexcept {
    // [ring-take] relaxed: the compare-exchange tells whether it is still so.
    std::uint32_t head = head_.load(relaxed);
    // [ring-put] relaxed: written by this thread.
    const std::uint32_t tail = tail_.load(relaxed);
    while (head != tail) {
      T* item = get(head);
      // [ring-take] release, relaxed on failure: as above. [spare: change] What thieves released goes on
      // through a relaxed one as well, and the tail hands over all that the owner did.
      if (head_.compare_exchange_weak(head, head + 1, release, relaxed)) return item;
    }
    return nullptr;
  }

  /// Takes the older half of what is here, rounded up: the oldest into `first`, the others into
  /// `mine`, in order and as far as there is room. Returns how many in all; `first` is left alone
  /// if that is none. `mine` belongs to the caller and is another ring.
  [[nodiscard]] std::size_t steal_half_into(work_ring& mine, T*& first) noexcept {
    TROUPE_ASSERT(&mine != this, "work_ring: stolen from itself");
    // [ring-put] relaxed: the caller owns `mine`.
    const std::uint32_t mine_tail = mine.tail_.load(relaxed);
    // [ring-take] [unchecked] acquire: as in push(). Who took what was in the slots of `mine` has
    // read it before they are filled anew below: without it that would be load buffering, which the
    // model checker does not show.
    const std::uint32_t mine_head = mine.head_.load(acquire);
    const auto room = static_cast<std::uint32_t>(Capacity) - (mine_tail - mine_head);
    // [ring-take] acquire: the tail below is no older than this head. [spare] If it is, that shows.
    std::uint32_t head = head_.load(acquire);
    for (;;) {
      // [ring-put] acquire: the slots below this tail, and the items, are written.
      const std::uint32_t waiting = tail_.load(acquire) - head;
      if (waiting > Capacity) {  // the head is older than the tail: look again
        // [ring-take] [spare] acquire: as above.
        head = head_.load(acquire);
        continue;
      }
      const std::uint32_t taken = std::min(waiting - waiting / 2, room + 1);
      if (taken == 0) return 0;
      T* oldest = get(head);
      for (std::uint32_t i = 1; i < taken; ++i) mine.put(mine_tail + i - 1, get(head + i));
      // [ring-take] [unchecked: change] release: the slots are read before the owner, who acquires the
      // head, writes them anew; unchecked as in push(), whose partner this is. Acquire on failure
      // [spare: failure]: as above.
      if (!head_.compare_exchange_weak(head, head + taken, release, acquire)) continue;
      first = oldest;
      // [ring-put] [idle] seq_cst: as in push(). [spare] release would do: the thief leaves the
      // searchers afterwards, and that is seq_cst.
      if (taken > 1) mine.tail_.store(mine_tail + taken - 1, seq_cst);
      return taken;
    }
  }

  /// Takes the older half, at most `max`, for a ring that overflows. Returns how many.
  [[nodiscard]] std::size_t take_half(T** out, std::size_t max) noexcept {
    // [ring-take] relaxed: as in pop().
    std::uint32_t head = head_.load(relaxed);
    // [ring-put] relaxed: written by this thread.
    const std::uint32_t tail = tail_.load(relaxed);
    for (;;) {
      const std::uint32_t waiting = tail - head;
      const auto taken =
          static_cast<std::uint32_t>(std::min<std::size_t>(waiting - waiting / 2, max));
      if (taken == 0) return 0;
      for (std::uint32_t i = 0; i < taken; ++i) out[i] = get(head + i);
      // [ring-take] [spare] release, relaxed: as in pop().
      if (head_.compare_exchange_weak(head, head + taken, release, relaxed)) return taken;
    }
  }

  /// False if an item was there all the time; otherwise a guess. The tail is read seq_cst, see
  /// push().
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// As exact as empty().
  [[nodiscard]] std::size_t size() const noexcept {
    // [ring-take] acquire: the tail below is no older than this head. [spare] It is a guess anyway.
    const std::uint32_t head = head_.load(acquire);
    // [idle] seq_cst: a worker that has announced its sleep reads any tail whose push did not see
    // the announcement.
    const std::uint32_t waiting = tail_.load(seq_cst) - head;
    return std::min<std::size_t>(waiting, Capacity);
  }

 private:
  // Slots are atomics because a thief may read one while the owner writes it anew; then the thief's
  // compare-exchange fails, and what it has read is thrown away.
  T* get(std::uint32_t index) const noexcept {
    // [ring-put] relaxed: the tail orders it.
    return slots_[index % Capacity].load(relaxed);
  }
  void put(std::uint32_t index, T* item) noexcept {
    // [ring-put] relaxed: the tail orders it.
    slots_[index % Capacity].store(item, relaxed);
  }

  alignas(cache_line_bytes) atomic<std::uint32_t> head_{0};  // next to be taken; by anybody
  alignas(cache_line_bytes) atomic<std::uint32_t> tail_{0};  // next to be filled; by the owner
  alignas(cache_line_bytes) std::array<atomic<T*>, Capacity> slots_{};
};

}  // namespace troupe
