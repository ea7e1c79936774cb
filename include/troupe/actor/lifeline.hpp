// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/base/assert.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// The first word of an actor's slot: which incarnation of the slot this is, how far its end has
/// come, and how many references hold it. It is constructed once and read for ever, so that an
/// address may ask at any time whether what it named is still there.
///
///   bits     63…32 generation   31 ended   30 ending   29 undecided   28…0 count
///   free     ended, count 0, and the generation of the slot's next actor
///   open     count ≥ 0; each reference and each armed timer is one
///   ending   its last turn has begun: no reference is made from an address any more. The turn
///            holds one reference until it is over.
///   ended    the object is gone. Who lets go of the last reference frees the slot.
///   undecided  ending, or not: the search for cycles has found all its references, and looks whether
///            those that hold it are to end as well. Who comes by an address waits; it takes as long as
///            the marking of what is to end together.
///
/// free → open     open()
/// open → ending   begin_end(), or try_begin_end() at count 0
/// open → undecided    try_mark() at the count that was found; the actor is idle, and gets no turn
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
    [[nodiscard]] bool ending() const noexcept { return (word & (ending_bit | ended_bit)) != 0; }
    [[nodiscard]] bool undecided() const noexcept { return (word & undecided_bit) != 0; }
    [[nodiscard]] std::uint32_t count() const noexcept {
      return static_cast<std::uint32_t>(word & (undecided_bit - 1));
    }
  };

  // [life] relaxed: the holder of a count reads what cannot change under him.
  [[nodiscard]] state now() const noexcept { return {word_.load(relaxed)}; }

  /// The same for who has just added to what the ending turn will look for; see end().
  [[nodiscard]] state now_in_order() const noexcept { return {word_.load(seq_cst)}; }

  /// A free slot becomes an actor with one reference.
  void open() noexcept {
    // [life-open] release: whoever holds it through an address sees the control block complete.
    word_.store((std::uint64_t{now().generation()} << 32) | 1, release);
  }

  /// One more reference, from somebody who has one.
  void hold() noexcept {
    // [life] relaxed: his own keeps the slot as it is.
    [[maybe_unused]] const state before{word_.fetch_add(1, relaxed)};
    TROUPE_ASSERT(before.count() < undecided_bit - 1, "more than 2^29 references to one actor");
  }

  /// One more reference, from an address; false if that actor has begun to end, or it is undecided.
  [[nodiscard]] bool try_hold(std::uint32_t generation) noexcept {
    return try_hold_if([=](state s) { return s.generation() == generation && !s.ending(); });
  }

  /// The same, but what is undecided is waited for.
  [[nodiscard]] bool try_hold_when_decided(std::uint32_t generation) noexcept;

  /// The same, but false only if it has ended: for who wants to hear of the end.
  [[nodiscard]] bool try_hold_to_the_end(std::uint32_t generation) noexcept {
    return try_hold_if([=](state s) { return s.generation() == generation && !s.ended(); });
  }

  /// The same for whoever has the slot now, ended or not; false if it is free.
  [[nodiscard]] bool try_hold_in_use() noexcept {
    return try_hold_if([](state s) { return !s.ended() || s.count() > 0; });
  }

  /// Lets go, unless that was the last reference to an actor that is open, or the slot must be
  /// freed: then false, and the reference is still held.
  [[nodiscard]] bool try_let_go() noexcept {
    state s = now();
    while (s.count() > 1) {
      // [life-last] release: what was done through this reference comes before what is done by
      // whoever lets go of the last one.
      if (word_.compare_exchange_weak(s.word, s.word - 1, release, relaxed)) return true;
    }
    return false;
  }

  /// The same look for who is about to use what the last one to let go has used.
  [[nodiscard]] state now_after_others() const noexcept {
    return {word_.load(acquire)};  // [life-last] acquire
  }

  /// Lets go whatever the count; true if the caller must free the slot.
  [[nodiscard]] bool let_go() noexcept {
    // [life-last] release as above; acquire: pairs with it, the slot is about to be freed.
    const state before{word_.fetch_sub(1, acq_rel)};
    return before.count() == 1 && before.ended();
  }

  /// Begins the end of an actor that nobody references; false if somebody does.
  [[nodiscard]] bool try_begin_end() noexcept {
    state s = now();
    if (s.count() != 0) return false;
    // [life-last] acquire. [spare] Only the turn's own let_go() makes the count zero, and it acquires.
    return word_.compare_exchange_strong(s.word, s.word + ending_bit + 1, acquire, relaxed);
  }

  void begin_end() noexcept {
    word_.fetch_add(ending_bit + 1, relaxed);  // [life] relaxed: as in hold()
  }

  /// From here on no address leads here.
  void end() noexcept {
    // [end-side] seq_cst: who arms a timer makes the side block and then looks whether the actor
    // has ended; the ending turn says that it has and then looks for a side block. With anything
    // weaker both could miss the other, and the timer would outlive its actor. [life-gone] release:
    // who finds no actor here any more comes after all that it did.
    word_.fetch_add(ended_bit, seq_cst);
  }

  /// end() and let_go() in one for the turn of an actor that nobody else references; false if
  /// somebody does. From here on nothing leads here, and nothing that was sent here is on its way.
  [[nodiscard]] bool try_end_alone() noexcept {
    state s = now();
    if (s.count() != 1) return false;
    // [life-last] acquire: what was done through references comes before the slot is used again.
    // [life-gone] release: as in end(). Not [end-side]: who arms a timer has a reference.
    return word_.compare_exchange_strong(s.word, s.word + ended_bit - 1, acq_rel, relaxed);
  }

  /// Takes back the turn's reference that try_end_alone() has let go, for an actor that has ended and
  /// is not yet done with. Nobody has held it meanwhile: at count 0 and ended it looks free.
  void hold_again() noexcept {
    // [life-gone] release: who finds the slot in use again comes after the closing of its mailbox.
    word_.fetch_add(1, release);
  }

  /// try_begin_end() and try_end_alone() in one, where nothing happens between them.
  [[nodiscard]] bool try_end_at_once() noexcept {
    state s = now();
    if (s.count() != 0) return false;
    // [life-gone] release: as in end(). Only the turn's own let_go() makes the count zero, and it
    // acquires.
    return word_.compare_exchange_strong(s.word, s.word + ended_bit, release, relaxed);
  }

  // ── The search's for cycles, of an actor whose turns it keeps ─────────────────────────────────

  /// Whether these are still all its references. Then it is undecided.
  [[nodiscard]] bool try_mark(std::uint32_t references) noexcept {
    state s = now();
    if (s.ending() || s.count() != references) return false;
    // [life-last] acquire: what was done through references that are gone comes before: a message that
    // was sent through one of them is seen in the mailbox.
    return word_.compare_exchange_strong(s.word, s.word + ending_bit + undecided_bit, acquire,
                                         relaxed);
  }
  void unmark() noexcept {
    word_.fetch_sub(ending_bit + undecided_bit, relaxed);  // [life] relaxed: as in hold()
  }
  void end_marked() noexcept {
    word_.fetch_sub(undecided_bit - 1, relaxed);  // [life] relaxed: as in begin_end()
  }

  /// The last reference is gone. False if the slot has no generation left and must stay unused.
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
      // [life-gone] acquire on failure. [life-open] [spare: change] acquire: the word was read so before.
      if (word_.compare_exchange_weak(s.word, s.word + 1, acquire, acquire)) return true;
    }
    return false;
  }

  atomic<std::uint64_t> word_{ended_bit};
};

static_assert(sizeof(lifeline) == 8);

}  // namespace troupe::detail
