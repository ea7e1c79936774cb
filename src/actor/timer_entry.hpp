// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include <troupe/actor/timer.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/time/timer_wheel.hpp>

namespace troupe::detail {

class control_block;
struct timer_entry;

/// State that only some timers need: periodic ones, whose tick may be on its way while they are in
/// the wheel, and those that belong to a trace.
struct timer_details {
  envelope tick;
  timer_entry* entry;
  envelope* message;
  clone_function clone;  // null: fires once
  duration period;
  time_point deadline;  // not rounded
  std::uint64_t trace;
};

/// One armed timer: a node of the wheel, or else the envelope of its tick; and a node in its
/// actor's list. Entries are reused, and their addresses stay readable, so that a `timer` may
/// inspect one at any time.
///
/// An entry is free once it is neither live nor queued. All members are guarded by the service's
/// mutex, except those that the actor of a tick reads: how, target and message, which do not change
/// while it is queued, and `claimed`. The tick's `next` belongs to the mailbox while the tick is in
/// it, and then to the actor.
///
/// Its size is one cache line: with a million timers, each one that fires costs a cache miss.
struct alignas(cache_line_bytes) timer_entry {
  timer_entry() noexcept { ::new (place) timer_node; }

  /// Valid while it is in the wheel, or free.
  [[nodiscard]] timer_node& node() noexcept {
    return *std::launder(reinterpret_cast<timer_node*>(place));
  }
  [[nodiscard]] static timer_entry& of(timer_node& one) noexcept {
    return *reinterpret_cast<timer_entry*>(&one);
  }

  /// Valid while it is in a mailbox, or being handled.
  [[nodiscard]] envelope& tick() noexcept {
    return *std::launder(reinterpret_cast<envelope*>(place));
  }

  /// Moves it out of the wheel, to be put into a mailbox.
  [[nodiscard]] envelope& begin_tick(const dispatch& how) noexcept {
    queued = true;
    return *::new (place) envelope{nullptr, &how};
  }
  [[nodiscard]] static timer_entry& of(envelope& tick) noexcept {
    return *reinterpret_cast<timer_entry*>(&tick);
  }
  [[nodiscard]] static const timer_entry& of(const envelope& tick) noexcept {
    return *reinterpret_cast<const timer_entry*>(&tick);
  }
  void end_tick() noexcept {
    queued = false;
    if (!has_details) ::new (place) timer_node;
  }
  /// True for exactly one of the threads that may want the message of a queued tick.
  [[nodiscard]] bool claim() noexcept {
    // [tick] relaxed: decides only which thread is first. The message is published to the actor
    // with the tick, and to the canceller by the mutex.
    return !claimed.exchange(true, relaxed);
  }

  /// False while it is used as an envelope.
  [[nodiscard]] bool is_node() const noexcept { return !queued || has_details; }

  [[nodiscard]] envelope*& message() noexcept {
    return has_details ? what.details->message : what.message;
  }
  [[nodiscard]] bool is_periodic() const noexcept {
    return has_details && what.details->clone != nullptr;
  }

  alignas(envelope) std::byte place[sizeof(timer_node)];
  std::uint64_t generation : 48 = 1;
  bool live : 1 = false;         // neither cancelled nor done
  bool queued : 1 = false;       // its tick is in the mailbox, or being handled
  bool cloning : 1 = false;      // the message is being copied outside the lock
  bool alarm : 1 = false;        // only reports that it is time; holds no actor
  bool own : 1 = false;          // armed by its actor's object
  bool was_late : 1 = false;     // a simulation delayed it, and fires it now
  bool high : 1 = false;         // its message is high-priority
  bool has_details : 1 = false;  // `what` holds the details
  // For a tick without details: taken by the actor, or by the thread that cancels it.
  atomic<bool> claimed{false};
  control_block* target = nullptr;  // from arming until it is free; held while it lives
  union {
    envelope* message = nullptr;  // the message to send
    timer_details* details;
  } what;
  timer_entry* previous_of_actor = nullptr;
  timer_entry* next_of_actor = nullptr;  // or in the free list
};
static_assert(sizeof(timer_entry) == cache_line_bytes);
static_assert(sizeof(timer_node) >= sizeof(envelope));

/// Memory for entries, in chunks of the size of a large page. A chunk without used entries can be
/// given back to the system. Its addresses stay mapped, because a `timer` may read there at any
/// time, and read as zero, which is not a valid generation. An entry that is placed there later has
/// a generation that no earlier one had.
///
/// Threads:   one at a time, except for discard().
/// Invariant: open_ has the chunks with room: first the partly used ones, then the completely free
///            ones.
/// Cost:      take() and give_back(): two cache lines of the chunk in addition to that of the
///            entry.
class entry_store {
 public:
  struct chunk;

  entry_store() noexcept;
  entry_store(const entry_store&) = delete;
  entry_store& operator=(const entry_store&) = delete;
  ~entry_store();

  /// Throws std::bad_alloc.
  [[nodiscard]] timer_entry& take();
  /// The entry may still be read afterwards, but only for its generation, which the caller has
  /// changed.
  void give_back(timer_entry& one) noexcept;
  /// True if take() need not touch memory that is not in use yet.
  [[nodiscard]] bool has_used_before() const noexcept;

  /// More than one chunk is completely free: a load that fluctuates needs one.
  [[nodiscard]] bool has_surplus() const noexcept { return free_chunks_ > 1; }
  /// Giving back memory: takes out a completely free chunk if there are more than `stay`; otherwise
  /// null.
  [[nodiscard]] chunk* take_surplus(std::size_t stay) noexcept;
  static void discard(chunk& one) noexcept;
  void put_vacant(chunk& one) noexcept;
  /// The number of chunks that are not given back.
  [[nodiscard]] std::size_t chunks_kept() const noexcept { return kept_; }

 private:
  static chunk& of(timer_entry& one) noexcept;
  chunk& with_room();
  void push_front(chunk& one) noexcept;
  void push_back(chunk& one) noexcept;
  void unlink(chunk& one) noexcept;

  std::vector<std::unique_ptr<chunk>> chunks_;
  chunk* open_ = nullptr;
  chunk* last_open_ = nullptr;
  chunk* vacant_ = nullptr;
  std::size_t free_chunks_ = 0;
  std::size_t kept_ = 0;
};

}  // namespace troupe::detail
