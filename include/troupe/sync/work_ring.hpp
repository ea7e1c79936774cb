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

/// The bounded run queue of one worker, from which other workers steal. First in, first out for all
/// of them: the item that has waited longest runs next, on whichever worker. It is the run queue of
/// Go's scheduler (runtime/proc.go: runqput, runqget, runqgrab, runqputslow).
///
/// Threads:   the owner: push(), pop(), take_half(), and stealing into this ring. Any thread:
///            stealing from it, empty() and size().
/// Invariant: head ≤ tail ≤ head + Capacity, modulo 2^32. Only the owner writes slots and tail.
/// Cost:      push(): one store. pop(): one compare-exchange. Stealing half: one compare-exchange
///            on the victim, whatever the number of items.
template <class T, std::size_t Capacity = 256>
class work_ring {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "indices wrap with their type");
  static_assert(Capacity <= (std::size_t{1} << 30));

 public:
  static constexpr std::size_t capacity = Capacity;

  work_ring() = default;
  work_ring(const work_ring&) = delete;
  work_ring& operator=(const work_ring&) = delete;

  /// Returns false if full. The publishing store is seq_cst, so that a push() followed by a seq_cst
  /// check for sleepers pairs with a sleeper that announces its sleep and then checks empty(). If
  /// no thread needs to be woken, release is sufficient.
  [[nodiscard]] bool push(T* item, std::memory_order publish = seq_cst) noexcept {
    // [ring-take] acquire: the thread that took the item from this slot has read it. [unchecked] It
    // keeps that read before the write here: otherwise there would be load buffering, which the
    // model checker does not show.
    const std::uint32_t head = head_.load(acquire);
    // [ring-put] relaxed: written by this thread.
    const std::uint32_t tail = tail_.load(relaxed);
    if (tail - head >= Capacity) return false;
    put(tail, item);
    // [ring-put] release at least: a thief that reads this tail reads the slot and the item. [idle]
    // seq_cst: a worker that goes to sleep sees this tail, or this thread sees the sleeper; with
    // release each could miss the other.
    tail_.store(tail + 1, publish);
    return true;
  }

  /// Returns null if empty.
  [[nodiscard]] T* pop() noexcept {
    // [ring-take] relaxed: the compare-exchange verifies it.
    std::uint32_t head = head_.load(relaxed);
    // [ring-put] relaxed: written by this thread.
    const std::uint32_t tail = tail_.load(relaxed);
    while (head != tail) {
      T* item = get(head);
      // [ring-take] release, relaxed on failure: as above. [spare: change] What thieves released is
      // also passed on by a relaxed exchange, and the tail publishes everything that the owner did.
      if (head_.compare_exchange_weak(head, head + 1, release, relaxed)) return item;
    }
    return nullptr;
  }

  /// Takes the older half of the items, rounded up: the oldest into `first`, the others into
  /// `mine`, in order and as far as there is room. Returns the total number; if it is zero, `first`
  /// is unchanged. `mine` must belong to the caller and be another ring.
  [[nodiscard]] std::size_t steal_half_into(work_ring& mine, T*& first) noexcept {
    TROUPE_ASSERT(&mine != this, "work_ring: a ring cannot steal from itself");
    // [ring-put] relaxed: the caller owns `mine`.
    const std::uint32_t mine_tail = mine.tail_.load(relaxed);
    // [ring-take] [unchecked] acquire: as in push(). Threads that took items from slots of `mine`
    // have read them before the slots are refilled below: otherwise there would be load buffering,
    // which the model checker does not show.
    const std::uint32_t mine_head = mine.head_.load(acquire);
    const auto room = static_cast<std::uint32_t>(Capacity) - (mine_tail - mine_head);
    // [ring-take] acquire: the tail below is no older than this head. [spare] If it were, the check
    // below would notice.
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
      // [ring-take] [unchecked: change] release: the slots are read before the owner, which
      // acquires the head, writes them again; unchecked as in push(), whose partner this is.
      // Acquire on failure [spare: failure]: as above.
      if (!head_.compare_exchange_weak(head, head + taken, release, acquire)) continue;
      first = oldest;
      // [ring-put] [idle] seq_cst: as in push(). [spare] Release would suffice: the thief leaves
      // the searchers afterwards, and that is seq_cst.
      if (taken > 1) mine.tail_.store(mine_tail + taken - 1, seq_cst);
      return taken;
    }
  }

  /// Takes the older half, at most `max` items, from a ring that overflows. Returns the number.
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

  /// False if an item was there all the time; otherwise a guess. The tail is read with seq_cst, see
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
  // Slots are atomics because a thief may read one while the owner overwrites it; then the thief's
  // compare-exchange fails, and the value read is discarded.
  T* get(std::uint32_t index) const noexcept {
    // [ring-put] relaxed: the tail orders it.
    return slots_[index % Capacity].load(relaxed);
  }
  void put(std::uint32_t index, T* item) noexcept {
    // [ring-put] relaxed: the tail orders it.
    slots_[index % Capacity].store(item, relaxed);
  }

  alignas(cache_line_bytes) atomic<std::uint32_t> head_{0};  // next to be taken; by any thread
  alignas(cache_line_bytes) atomic<std::uint32_t> tail_{0};  // next to be filled; by the owner
  alignas(cache_line_bytes) std::array<atomic<T*>, Capacity> slots_{};
};

}  // namespace troupe
