// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/sync/parker.hpp>

#include "wait_search.hpp"

namespace troupe {

class sending;

namespace detail {

class pauses;
struct handler_frame;

/// The result of control_block::take_in().
enum class taken : std::uint8_t {
  by_busy,    // it is in the mailbox
  by_idle,    // the same, and its reader must be scheduled
  full,       // there is no room
  by_nobody,  // the mailbox is closed
  never,      // a budget or the limit of a type forbids it
};

/// The result of control_block::offer().
struct offered {
  control_block* receiver = nullptr;  // whose mailbox is full; null: it is decided
  envelope* message = nullptr;        // the message to send to it
  delivery became = delivery::accepted;
};

/// A message that waits in the line of a full mailbox, for a handler (see waiting_send) or for a
/// thread.
///
/// in line → out of line, under the mutex of the pauses, by one of:
///   the receiver's reader   which takes the message in, or destroys it, and notifies the waiter
///   the sender's turn       which destroys it, because the handler is destroyed
struct message_in_line {
  message_in_line(control_block& to, envelope& what, parker* waiting_thread) noexcept;

  control_block* const receiver;  // held by the waiter
  envelope* const message;
  // Properties of the message, read before the mutex is taken because that may run user code; used
  // after it.
  const std::size_t bytes;
  const dispatch* const kind;
  const std::uint64_t trace;
  parker* const thread;  // null: a handler waits
  delivery became = delivery::refused;
  bool in_line = false;  // under the mutex, like the following members
  // the actor that handles nothing meanwhile; null: its sender continues
  control_block* blocks = nullptr;
  std::uint64_t number = 0;  // of the wait, if it has `blocks`; no other wait has had it
  parked_search search;      // for a wait cycle that this wait completes
  message_in_line* later = nullptr;
  message_in_line* earlier = nullptr;
};

/// A handler that waits in a line, and at the same time the message that notifies it of the
/// outcome. A block of its own, not part of the frame: it may be in the sender's mailbox when the
/// frame is destroyed.
struct waiting_send : envelope, message_in_line {
  waiting_send(control_block& from, control_block& to, envelope& what, sending& who,
               handler_frame& frame) noexcept;

  void free() noexcept;

  // Held until it is out of the line and has been sent to the sender.
  control_block* const sender;
  pauses* const of;  // of the receiver's system

  // Accessed only by the sender's turn. Null: the handler has been destroyed.
  sending* awaited;
  handler_frame* const handler;
};

}  // namespace detail
}  // namespace troupe
