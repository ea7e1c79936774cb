// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/actor/incarnations.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/sync/atomic.hpp>

#include "bonds.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "sorted_messages.hpp"
#include "wait_table.hpp"

namespace troupe::detail {

struct handler_frame;
struct timer_entry;
struct waiting_send;

/// What only some actors need; see control_block::side().
struct side_block {
  std::string name;                                  // set by the spawner, then constant
  std::unique_ptr<const overload_rules> own;         // likewise; null: the system's limits
  std::unique_ptr<atomic<std::uint16_t>[]> of_type;  // messages waiting, for each limited type

  detail::bonds bonds;            // who is to be told of its end
  watch* watches = nullptr;       // its own of others; the turn's
  std::string what;               // why it failed, or which link broke; the turn's
  timer_entry* timers = nullptr;  // all that are armed for it; under the timer service's mutex

  paused_sender pause;               // its own waiting; both under the mutex of the pauses
  paused_sender* waiters = nullptr;  // who waits for room in its mailbox, the newest first
  // Of handlers that wait for room in its mailbox, the oldest first; likewise.
  waiting_send* line = nullptr;
  waiting_send* line_end = nullptr;
  // [line] relaxed: whether there are any. Only a look: who misses the first one overtakes it.
  atomic<bool> has_line{false};

  // The turn's:
  handler_frame* handlers = nullptr;   // its own that wait
  handler_frame* exclusive = nullptr;  // of these, the one for which all others wait
  handler_frame* held_up = nullptr;    // of these, who could go on but for that one; in order
  handler_frame* held_up_last = nullptr;
  std::unique_ptr<wait_table> waits;  // null: none of them has waited for an answer
  timer_entry* alarm = nullptr;       // for these; under the timer service's mutex
  envelope* kept = nullptr;           // messages to be handled later, the oldest first
  envelope* kept_last = nullptr;
  std::uint32_t kept_units = 0;  // that they count for in the mailbox
  sorted_messages sorted;        // taken out of the mailbox when high ones came

  // Of one that is restarted; null: it has one object only.
  std::unique_ptr<incarnations> again;
  // [restart] who decides; see incarnations.cpp.
  atomic<control_block::next_object> next{control_block::next_object::none};
  exit_reason ends_as = exit_reason::unknown;  // with next_object::never
  std::uint32_t objects_begun = 0;
  envelope* once_more = nullptr;  // the message that failed the object; the turn's, as what follows
  const envelope* being_retried = nullptr;
  std::uint64_t retried_trace = 0;

  overload_tally overloads;
};

}  // namespace troupe::detail
