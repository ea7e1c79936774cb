// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <troupe/actor/events.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/parker.hpp>

#include "request_cycles.hpp"
#include "wait_search.hpp"

namespace troupe::detail {

class control_block;
struct side_block;
enum class taken : std::uint8_t;
struct message_in_line;

/// A suspended actor, in its side block: it has sent to full mailboxes and waits for room in each.
struct paused_sender {
  control_block* sender = nullptr;
  control_block* waits_for = nullptr;  // one of the following; null: it is not suspended
  paused_sender* next = nullptr;       // in the list of those that wait for the same mailbox
  paused_sender* previous = nullptr;
  // All full mailboxes that its handler has sent to, held until it is resumed. It waits for the
  // first one, then for the others, of which `left` remain.
  control_block* first = nullptr;
  std::vector<control_block*> others;
  std::size_t left = 0;
  // One for which it does not wait, and why: it would complete a wait cycle, or a time-out has
  // expired.
  control_block* passed_over = nullptr;
  overload_event::kind because = overload_event::kind::wait_cycle;
  std::uint64_t number = 0;  // of the wait for `waits_for`; no other wait has had it
  parked_search search;      // for a wait cycle that this wait completes
};

/// Everything that waits for room in mailboxes: suspended actors, and messages in the line of a
/// full mailbox, for which a handler or a plain thread waits until they have been taken.
///
/// A suspended actor's mailbox stays busy, and it is in no queue of its executor, so it is not
/// scheduled until it is released here, by exactly one of: the receiver has room, or terminates; a
/// time-out of one of its own handlers expires; it is told to stop_now(). Suspension has no time
/// limit. No actor waits forever: when an actor begins to wait, the waits that begin at its
/// receiver are followed, and if they lead back, the actor continues beyond the limit. Followed are
/// suspensions, handlers that stand in a line while their actor handles nothing (exclusive ones,
/// and functions), and requests for whose reply an actor waits without handling anything else.
///
/// A search has a slice of steps within the hold of the mutex in which the wait begins. In that
/// slice, the waits of small graphs are decided: a wait that completes a cycle does not begin. A
/// search that takes longer is parked and continued in further slices (wait_search), while the
/// actor waits. If it finds a cycle, the actor is resumed. So of the waits of a cycle, the search
/// for the last one to begin finds it, because it sees all others.
///
/// The messages in the line of a mailbox are taken by its reader, first come, first served, as far
/// as there is room. If the suspended handler is destroyed first, it takes its message out of the
/// line.
///
/// The bytes that a mailbox has taken beyond its limit are charged to the overdraft of its system.
/// Each byte that the actor handles gives one of them back, and what is left is given back when the
/// mailbox is half empty. A mailbox counts to 524,287; messages beyond that (side_block::uncounted)
/// must have been handled as well before there is room.
///
/// Threads:   any. One mutex for the process, because actors of one system wait for those of
///            another.
/// Invariant: an actor's entry is in the list of the receiver that it waits for, or it waits for
///            none. While a receiver has waiters, a line or an overdraft, its mailbox is marked
///            (mailbox::want_room), so that its reader comes here; or the reader is on its way; or
///            the mailbox has uncounted messages, the last of which brings the reader here.
/// Cost:      the mutex, and a step for each actor in the chain of waits; nothing while no mailbox
///            is full. The mutex is held for one slice of a search at a time.
class pauses {
 public:
  /// Called at the very end of `sender`'s turn. Returns true if it is suspended; it may already be
  /// running elsewhere then. Takes over the caller's references to `first` and to the others, which
  /// have side blocks.
  [[nodiscard]] static bool pause(control_block& sender, control_block& first,
                                  std::vector<control_block*> others) noexcept;

  /// Called by the reader of `receiver` when its mailbox has room or it has terminated.
  void release_waiters_of(control_block& receiver) noexcept;

  /// Resumes `sender` if it is suspended. `is_late`: because a time-out of one of its handlers has
  /// expired.
  static void release(control_block& sender, bool is_late = false) noexcept;

  /// From now on an actor waits for the reply to this request without handling anything else. If
  /// that completes a cycle, an actor that is suspended in it is resumed. The calling thread makes
  /// all slices of the search.
  static void begin_blocking(const request_cycles::question& request) noexcept;

  struct search_in_progress;
  /// Makes one slice of the search, or begins with the next one that is parked. False: none is.
  static bool go_on_searching(search_in_progress& at) noexcept;

  /// The number of suspended senders, in all systems. Only an estimate.
  [[nodiscard]] static std::uint64_t suspended_anywhere() noexcept;

  /// Suspended actors, and threads that wait for room.
  [[nodiscard]] std::uint64_t waiting() const noexcept {
    return waiting_.load(acquire);  // [waiting] [unchecked] only for observers
  }

  // ── The overdraft ───────────────────────────────────────────────────────────────────────────
  /// `receiver` has taken this many bytes beyond its limit, which are already charged to its
  /// system. `is_locked`: the caller has the mutex.
  void overdrawn(control_block& receiver, std::size_t bytes, bool is_locked) noexcept;
  /// The reader of `receiver`, which has a side block, has handled this many bytes: the
  /// waiting messages exceed the limit by that much less.
  static void no_longer_overdrawn(control_block& receiver, std::size_t bytes) noexcept;
  /// The receiver is about to take a message that it cannot count.
  void begin_uncounted(control_block& receiver, bool is_locked) noexcept;
  /// The receiver has not taken that message, or has handled it: see release_waiters_of().
  void end_uncounted(control_block& receiver, bool is_locked) noexcept;

  // ── Lines: async_send.cpp ──────────────────────────────────────────────────────────────
  /// Puts the message into its receiver's mailbox, or at the end of the line: taken::full.
  /// `sender`: the actor that handles nothing until the message leaves the line; null: the sending
  /// actor handles other messages, or a thread waits.
  [[nodiscard]] taken line_up(message_in_line& one, control_block* sender) noexcept;

  /// Takes a message out of the line. False if it is no longer there: another thread is about to
  /// report the outcome.
  [[nodiscard]] bool leave_line(message_in_line& one) noexcept;

  /// Handlers that wait for room.
  [[nodiscard]] std::uint64_t in_lines() const noexcept {
    return in_lines_.load(acquire);  // [waiting] [unchecked] only for observers
  }

 private:
  class walk;

  [[nodiscard]] static bool link(paused_sender& entry, control_block& receiver,
                                 walk& along) noexcept;
  static void unlink(paused_sender& entry) noexcept;
  [[nodiscard]] static bool waits_for_another(paused_sender& entry, walk& along) noexcept;
  static void finish(paused_sender& entry, bool schedules) noexcept;
  struct resumed {
    paused_sender* paused = nullptr;
    message_in_line* in_line = nullptr;
    taken how{};
  };
  static void resume(const resumed& those) noexcept;
  static resumed out_of_line(message_in_line& one) noexcept;
  [[nodiscard]] static control_block* begin_or_go_on(search_in_progress& at) noexcept;
  static void release_paused_of(control_block& receiver) noexcept;
  void let_line_in(control_block& receiver) noexcept;
  message_in_line* next_let_in(control_block& receiver, taken& how) noexcept;
  void count_in(const message_in_line& one, int more) noexcept;
  void append(message_in_line& one, side_block& its) noexcept;
  void unlink(message_in_line& one) noexcept;
  static void decided(message_in_line& one, taken how) noexcept;

  // Written under the mutex.
  atomic<std::uint64_t> waiting_{0};
  atomic<std::uint64_t> in_lines_{0};
};

}  // namespace troupe::detail
