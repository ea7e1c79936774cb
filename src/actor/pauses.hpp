// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <troupe/base/clock.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/sync/parker.hpp>

namespace troupe::detail {

class control_block;
class timer_service;
enum class taken : std::uint8_t;
struct waiting_send;

/// Somebody who waits until another actor's mailbox has room: an actor, with the entry in its side
/// block, or a plain thread, with the entry on its stack.
struct paused_sender {
  control_block* sender = nullptr;  // null: a thread
  parker* thread = nullptr;
  control_block* waits_for = nullptr;  // held by an actor; null: not waiting
  time_point until{};
  paused_sender* next = nullptr;  // who waits for the same mailbox
  paused_sender* previous = nullptr;
  paused_sender* later = nullptr;  // the actors in all the system, by `until`
  paused_sender* earlier = nullptr;
};

/// Who waits for room in a mailbox, in one system: actors and threads that are paused, and messages
/// that a handler sends when there is room.
///
/// A paused actor's mailbox stays busy, and it is in no queue of its executor: nobody gives it a turn
/// until it is released here, by exactly one of: the receiver has room, or ends; the time is over;
/// somebody waits for the paused one; it is told to stop. An actor on which somebody waits is not
/// paused, so that there is no cycle of waiting.
///
/// A message that waits stands in the receiver's line. The receiver's reader lets it in, first come,
/// first served, as far as the room goes; or the handler that waits is destroyed and takes it along.
/// Nobody is held up by a handler that waits, since its actor goes on: such lines neither end a pause
/// nor forbid one.
///
/// Threads:   any.
/// Invariant: an actor's entry is in both of its lists or in none. While a receiver has waiters or a line,
///            its mailbox is marked (mailbox::want_room), so that its reader comes here; or it is on
///            its way.
/// Cost:      a mutex of the system; nothing where nobody waits.
class pauses {
 public:
  explicit pauses(timer_service& timers) noexcept : timers_(timers) {}
  void start(duration longest) noexcept { longest_ = longest; }

  /// From `sender`'s turn, as the last thing that it does: true if it is paused, and may be running
  /// elsewhere by now. Takes over the caller's reference to `receiver`.
  [[nodiscard]] bool pause(control_block& sender, control_block& receiver) noexcept;

  /// Waits in this thread; false if the time was over first.
  bool wait_here(control_block& receiver) noexcept;

  /// There is room in the mailbox of `receiver`, or it has ended; from its reader.
  void release_waiters_of(control_block& receiver) noexcept;

  /// If `sender` is paused, it is not any more.
  void release(control_block& sender) noexcept;

  /// Releases whose time is over; returns when to come again.
  std::optional<time_point> expire(time_point now) noexcept;

  [[nodiscard]] std::uint64_t waiting() const noexcept;

  // ── Lines: send_when_ready.cpp ──────────────────────────────────────────────────────────────
  /// Puts the message into its receiver's mailbox, or at the end of the line: taken::full. From the
  /// sender's turn.
  [[nodiscard]] taken line_up(waiting_send& one) noexcept;

  /// False if it is not in the line any more: somebody is about to say what became of it.
  [[nodiscard]] bool leave_line(waiting_send& one) noexcept;

  [[nodiscard]] std::uint64_t in_lines() const noexcept;

 private:
  // An entry that was unlinked, and whom it has waited for.
  struct released {
    paused_sender* entry = nullptr;
    control_block* receiver = nullptr;
    void go_on() noexcept;
  };
  bool link(paused_sender& entry, control_block& receiver, released& other) noexcept;
  released unlink(paused_sender& entry) noexcept;
  void release_paused_of(control_block& receiver) noexcept;
  void let_line_in(control_block& receiver) noexcept;
  waiting_send* next_let_in(control_block& receiver, taken& how) noexcept;
  void unlink(waiting_send& one) noexcept;

  timer_service& timers_;
  duration longest_{};

  mutable mutex mutex_;             // guards what follows, and the entries
  paused_sender* first_ = nullptr;  // the one whose time is over next
  paused_sender* last_ = nullptr;
  std::uint64_t waiting_ = 0;
  std::uint64_t in_lines_ = 0;
};

}  // namespace troupe::detail
