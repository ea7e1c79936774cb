// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/incarnations.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/detail/sync/atomic.hpp>

#include "overload_rules.hpp"
#include "pauses.hpp"
#include "sorted_messages.hpp"
#include "termination_notices.hpp"
#include "wait_table.hpp"

namespace troupe::detail {

struct handler_frame;
struct timer_entry;
struct message_in_line;

/// State that only some actors need; see control_block::side().
struct side_block {
  std::string name;                                  // set by the spawner, then constant
  std::unique_ptr<const overload_rules> own;         // the same; null: the system's limits
  std::unique_ptr<atomic<std::uint16_t>[]> of_type;  // waiting messages of each limited type

  detail::termination_notices termination_notices;  // the recipients of its termination notice
  watch* watches = nullptr;                         // the watches that it has; the turn's
  std::string what;               // why it failed, or which link broke; the turn's
  timer_entry* timers = nullptr;  // all that are armed for it; under the timer service's mutex

  paused_sender pause;               // its own suspension; both under the mutex of the pauses
  paused_sender* waiters = nullptr;  // senders that wait for room in its mailbox, newest first
  // Messages that wait for room in its mailbox, oldest first; under the same mutex.
  message_in_line* line = nullptr;
  message_in_line* line_end = nullptr;
  // The message of its own handler in another actor's line, if it handles nothing meanwhile; same
  // mutex.
  message_in_line* blocking_line = nullptr;
  // Bytes beyond its limit that are charged to the overdraft. [overdrawn] relaxed: an amount that
  // publishes no data. Raised under the same mutex; its reader also lowers it without the mutex.
  atomic<std::size_t> overdrawn{0};
  // messages in its mailbox beyond what the mailbox can count; same mutex
  std::uint64_t uncounted = 0;
  // [line] relaxed: whether there are any. Only a hint: a sender that misses the first one
  // overtakes it.
  atomic<bool> has_line{false};

  // Accessed only by the current turn:
  handler_frame* handlers = nullptr;   // its suspended handlers
  handler_frame* exclusive = nullptr;  // of these, the one for which all others wait
  handler_frame* held_up = nullptr;    // of these, the ones that wait only for that one; in order
  handler_frame* held_up_last = nullptr;
  std::unique_ptr<wait_table> waits;  // null: no handler has waited for a reply
  timer_entry* alarm = nullptr;       // for these; under the timer service's mutex
  envelope* kept = nullptr;           // stashed messages, oldest first
  envelope* kept_last = nullptr;
  std::uint32_t kept_units = 0;  // the units that they count for in the mailbox
  // The last one of the messages at the front of the reader's list that were stashed for an
  // exclusive handler; null: there are no such messages. They need not be handled at once, so the
  // next exclusive handler stashes them together, without examining them again.
  envelope* examined_last = nullptr;
  std::uint32_t examined_units = 0;  // the units that they count for in the mailbox
  sorted_messages sorted;            // taken out of the mailbox when high-priority ones came

  // For a supervised actor. The factory of its incarnations belongs to the turn and is destroyed
  // after the last one, because it contains user code.
  bool supervised = false;  // constant
  std::unique_ptr<incarnations> again;
  // [restart] which thread decides; see incarnations.cpp.
  atomic<control_block::decision> next{control_block::decision{}};
  std::uint32_t objects_begun = 0;
  // the message that failed the incarnation; the turn's, like the following members
  envelope* once_more = nullptr;
  const envelope* being_retried = nullptr;
  std::uint64_t retried_trace = 0;

  overload_tally overloads;
};

}  // namespace troupe::detail
