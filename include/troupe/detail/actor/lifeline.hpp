// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {

/// The first word of an actor's slot: the generation of the slot, the progress of the actor's end,
/// and the number of references. It is constructed once and can be read forever, so that an address
/// may check at any time whether its actor still exists.
///
///   bits     63…32 generation   31 ended   30 ending   29 undecided   28…0 count
///   free     ended, count 0, and the generation of the slot's next actor
///   open     count ≥ 0; each reference and each armed timer is one
///   ending   its last turn has begun: no further reference is made from an address. The turn
///            holds one reference until it is over.
///   ended    the object is gone. The release of the last reference frees the slot.
///   undecided  open or ending; the search for cycles is about to decide. It has found all
///            references to this actor, and checks whether the actors that hold them end as well.
///            The actor may stay alive, so it is not ending yet. A reference from an address waits
///            for the decision, which takes as long as the marking of all actors that end together.
///
/// free → open     open()
/// open → ending   begin_end(), or try_begin_end() at count 0
/// open → undecided    try_mark() at the count that was found; the actor is idle and not scheduled
/// undecided → ending  end_marked(): its next turn is its last one, and has its reference already
/// undecided → open    unmark()
/// ending → ended  end(), or try_end_alone() at count 1, which becomes 0; hold_again() makes it 1
/// open → ended    try_end_at_once() at count 0
/// ended → free    free()
class lifeline {
 public:
  struct state {
    std::uint64_t word;
    [[nodiscard]] std::uint32_t generation() const noexcept {
      return static_cast<std::uint32_t>(word >> 32);
    }
    [[nodiscard]] bool ended() const noexcept { return (word & ended_bit) != 0; }
    /// Returns true if the actor handles no more messages, which is irrevocable. An undecided actor
    /// may still stay alive.
    [[nodiscard]] bool ending() const noexcept { return (word & (ending_bit | ended_bit)) != 0; }
    [[nodiscard]] bool undecided() const noexcept { return (word & undecided_bit) != 0; }
    /// Returns true if a reference may be made from an address.
    [[nodiscard]] bool open() const noexcept {
      return (word & (ending_bit | ended_bit | undecided_bit)) == 0;
    }
    /// Returns true if the slot is not free.
    [[nodiscard]] bool in_use() const noexcept { return !ended() || count() > 0; }
    [[nodiscard]] std::uint32_t count() const noexcept {
      return static_cast<std::uint32_t>(word & (undecided_bit - 1));
    }
  };

  // [life] relaxed: the caller holds a reference, and reads only what cannot change meanwhile.
  [[nodiscard]] state now() const noexcept { return {word_.load(relaxed)}; }

  /// As now(), for a caller that has just added data for the ending turn to find; see end().
  [[nodiscard]] state now_in_order() const noexcept { return {word_.load(seq_cst)}; }

  /// Turns a free slot into an actor with one reference.
  void open() noexcept {
    // [life-open] release: a thread that gets a reference through an address sees the complete
    // control block.
    word_.store((std::uint64_t{now().generation()} << 32) | 1, release);
  }

  /// Adds a reference, for a caller that has one.
  void hold() noexcept {
    // [life] relaxed: the caller's own reference keeps the slot as it is.
    [[maybe_unused]] const state before{word_.fetch_add(1, relaxed)};
    TROUPE_ASSERT(before.count() < undecided_bit - 1, "more than 2^29 references to one actor");
  }

  /// Adds a reference from an address; returns false if that actor has begun to end, or is
  /// undecided.
  [[nodiscard]] bool try_hold(std::uint32_t generation) noexcept {
    return try_hold_if([=](state s) { return s.generation() == generation && s.open(); });
  }

  /// As try_hold(), but waits for the decision about an undecided actor.
  [[nodiscard]] bool try_hold_when_decided(std::uint32_t generation) noexcept;

  /// As try_hold(), but returns false only if it has ended: for callers that wait for the end.
  [[nodiscard]] bool try_hold_to_the_end(std::uint32_t generation) noexcept {
    return try_hold_if([=](state s) { return s.generation() == generation && !s.ended(); });
  }

  /// As try_hold(), ended or not; returns false if the slot is free, or belongs to another actor.
  [[nodiscard]] bool try_hold_in_use(std::uint32_t generation) noexcept {
    return try_hold_if([=](state s) { return s.generation() == generation && s.in_use(); });
  }

  /// Releases a reference. Returns false if it was the last one to an actor that is open, or if the
  /// slot must be freed: then the reference is still held.
  [[nodiscard]] bool try_let_go() noexcept {
    state s = now();
    while (s.count() > 1) {
      // [life-last] release: actions through this reference happen before those of the thread that
      // releases the last one.
      if (word_.compare_exchange_weak(s.word, s.word - 1, release, relaxed)) return true;
    }
    return false;
  }

  /// As now(), for a caller that is about to use what the thread that released the last reference
  /// has used.
  [[nodiscard]] state now_after_others() const noexcept {
    return {word_.load(acquire)};  // [life-last] acquire
  }

  /// Releases a reference whatever the count is; returns true if the caller must free the slot.
  [[nodiscard]] bool let_go() noexcept {
    // [life-last] release as above; acquire: pairs with it, the slot is about to be freed.
    const state before{word_.fetch_sub(1, acq_rel)};
    return before.count() == 1 && before.ended();
  }

  /// Begins the end of an actor without references; returns false if there is any.
  [[nodiscard]] bool try_begin_end() noexcept {
    state s = now();
    if (s.count() != 0) return false;
    // [life-last] acquire. [spare] Only the turn's own let_go() makes the count zero, and it
    // acquires.
    return word_.compare_exchange_strong(s.word, s.word + ending_bit + 1, acquire, relaxed);
  }

  void begin_end() noexcept {
    word_.fetch_add(ending_bit + 1, relaxed);  // [life] relaxed: as in hold()
  }

  /// After this call no address leads here.
  void end() noexcept {
    // [end-side] seq_cst: a thread that arms a timer makes the side block and then checks whether
    // the actor has ended; the ending turn marks the end and then looks for a side block. With a
    // weaker order both could miss the other, and the timer would outlive its actor.
    // [life-gone] release: a thread that finds no actor here any more comes after everything that
    // the actor did.
    word_.fetch_add(ended_bit, seq_cst);
  }

  /// end() and let_go() in one, for the turn of an actor without other references; returns false if
  /// there are any. After it nothing leads here, and no message that was sent here is on its way.
  [[nodiscard]] bool try_end_alone() noexcept {
    state s = now();
    if (s.count() != 1) return false;
    // [life-last] acquire: actions through references come before the slot is used again.
    // [life-gone] release: as in end(). Not [end-side]: a thread that arms a timer has a reference.
    return word_.compare_exchange_strong(s.word, s.word + ended_bit - 1, acq_rel, relaxed);
  }

  /// Takes back the turn's reference that try_end_alone() has released, for an actor that has ended
  /// and is not yet finished. No reference was made meanwhile: at count 0 and ended the slot looks
  /// free.
  void hold_again() noexcept {
    // [life-gone] release: a thread that finds the slot in use again comes after the closing of its
    // mailbox.
    word_.fetch_add(1, release);
  }

  /// try_begin_end() and try_end_alone() in one, if nothing happens between them.
  [[nodiscard]] bool try_end_at_once() noexcept {
    state s = now();
    if (s.count() != 0) return false;
    // [life-gone] release: as in end(). Only the turn's own let_go() makes the count zero, and it
    // acquires.
    return word_.compare_exchange_strong(s.word, s.word + ended_bit, release, relaxed);
  }

  // ── For the search for cycles, on an actor whose turns it owns ────────────────────────────────

  /// Makes the actor undecided, if `references` is still the number of all its references.
  [[nodiscard]] bool try_mark(std::uint32_t references) noexcept {
    state s = now();
    if (!s.open() || s.count() != references) return false;
    // [life-last] acquire: actions through released references come before: a message that was sent
    // through one of them is seen in the mailbox.
    return word_.compare_exchange_strong(s.word, s.word + undecided_bit, acquire, relaxed);
  }
  void unmark() noexcept {
    word_.fetch_sub(undecided_bit, relaxed);  // [life] relaxed: as in hold()
  }
  void end_marked() noexcept {
    // [life] relaxed: as in begin_end(). From here on, a thread that takes the actor for ending is
    // right.
    word_.fetch_add(ending_bit - undecided_bit + 1, relaxed);
  }

  /// Frees the slot when the last reference is gone. Returns false if the slot has no generation
  /// left and must stay unused.
  [[nodiscard]] bool free() noexcept {
    const std::uint64_t next = std::uint64_t{now().generation()} + 1;
    word_.store((next << 32) | ended_bit, release);  // [life-gone]
    return static_cast<std::uint32_t>(next) != 0;
  }

 private:
  static constexpr std::uint64_t ended_bit = std::uint64_t{1} << 31;
  static constexpr std::uint64_t ending_bit = std::uint64_t{1} << 30;
  static constexpr std::uint64_t undecided_bit = std::uint64_t{1} << 29;

  template <class Wanted>
  bool try_hold_if(Wanted&& wanted) noexcept {
    state s{word_.load(acquire)};  // [life-gone] acquire
    while (wanted(s)) {
      // [life-gone] acquire on failure. [life-open] [spare: change] acquire: the word was already
      // read with acquire.
      if (word_.compare_exchange_weak(s.word, s.word + 1, acquire, acquire)) return true;
    }
    return false;
  }

  atomic<std::uint64_t> word_{ended_bit};
};

static_assert(sizeof(lifeline) == 8);

}  // namespace troupe::detail
