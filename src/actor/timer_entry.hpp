// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <troupe/actor/timer.hpp>
#include <troupe/base/cache_line.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/time/timer_wheel.hpp>

namespace troupe::detail {

class control_block;
struct timer_entry;

/// What only some timers have: those that fire again and again, whose tick may be on its way while they are in the wheel,
/// and those that belong to a trace.
struct timer_details {
  envelope tick;
  timer_entry* entry;
  envelope* message;
  clone_function clone;  // null: once
  duration period;
  time_point deadline;  // not rounded
  std::uint64_t trace;
};

/// One armed timer: a node of the wheel, or else the envelope of its tick, and a place in its actor's list.
/// Entries are used again and never freed, so that a `timer` may ask at any time.
///
/// It is free once it is neither live nor queued. All members are under the service's mutex, except those that the
/// actor of a tick looks at: how, target and message, which stay as they are while it is queued, and `claimed`. The tick's
/// `next` is whose it is: the mailbox's, then the actor's.
///
/// One cache line: of a million timers each that fires is a miss of the cache.
struct alignas(cache_line_bytes) timer_entry {
  timer_entry() noexcept { ::new (place) timer_node; }

  /// In the wheel, or free.
  [[nodiscard]] timer_node& node() noexcept {
    return *std::launder(reinterpret_cast<timer_node*>(place));
  }
  [[nodiscard]] static timer_entry& of(timer_node& one) noexcept {
    return *reinterpret_cast<timer_entry*>(&one);
  }

  /// In a mailbox, or being handled.
  [[nodiscard]] envelope& tick() noexcept {
    return *std::launder(reinterpret_cast<envelope*>(place));
  }

  /// Out of the wheel, and into a mailbox.
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
  /// True for one of those who may want the message of a tick that is queued.
  [[nodiscard]] bool claim() noexcept {
    // [tick] relaxed: who is first, and nothing else. The message came with the tick to the one, and with the mutex
    // to the other.
    return !claimed.exchange(true, relaxed);
  }

  /// Not as an envelope of its own.
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
  bool alarm : 1 = false;        // says only that it is time; holds nobody
  bool own : 1 = false;          // armed by its actor's object
  bool was_late : 1 = false;     // a simulation has had it fire later, and does so now
  bool high : 1 = false;         // its message is
  bool has_details : 1 = false;  // what they are is in `what`
  // Of a tick without details: its actor has the message, or who cancels it.
  atomic<bool> claimed{false};
  control_block* target = nullptr;  // from arming until it is free; held as long as it lives
  union {
    envelope* message = nullptr;  // what is sent
    timer_details* details;
  } what;
  timer_entry* previous_of_actor = nullptr;
  timer_entry* next_of_actor = nullptr;  // or among the free
};
static_assert(sizeof(timer_entry) == cache_line_bytes);
static_assert(sizeof(timer_node) >= sizeof(envelope));

/// Entries that have not been used yet, in chunks, each twice as large as the one before, up to a large page.
class entry_store {
 public:
  entry_store() = default;
  entry_store(const entry_store&) = delete;
  entry_store& operator=(const entry_store&) = delete;
  ~entry_store();

  /// Throws std::bad_alloc.
  [[nodiscard]] timer_entry& fresh();

 private:
  struct chunk {
    timer_entry* first;
    std::size_t count;
  };
  static std::align_val_t alignment(std::size_t count) noexcept;
  void add();

  std::vector<chunk> chunks_;
  std::size_t left_ = 0;  // in the last chunk
};

}  // namespace troupe::detail
