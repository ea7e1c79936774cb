// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/message/envelope.hpp>

namespace troupe {

class sending;

namespace detail {

class pauses;
struct handler_frame;

/// What control_block::take_in() did.
enum class taken : std::uint8_t {
  by_busy,    // it is in the mailbox
  by_idle,    // the same, and its reader needs a turn
  full,       // there is no room
  by_nobody,  // the mailbox is closed
  never,      // a budget or the limit of a type forbids it, or it is too large for this mailbox
};

/// What control_block::offer() did.
struct offered {
  control_block* receiver = nullptr;  // whose mailbox is full; null: it is decided
  envelope* message = nullptr;        // what is to be sent to it
  delivery became = delivery::accepted;
};

/// A message that waits in a line for room in its receiver's mailbox, and at the same time the message
/// that tells the handler what became of it. A block of its own, not of the frame: it may be in the
/// sender's mailbox when the frame is destroyed.
///
/// in line → out of it, under the mutex of the pauses, by one of
///   the receiver's reader   which lets the message in, or destroys it, and sends this to `sender`
///   the sender's turn       which destroys both, because the handler is destroyed
struct waiting_send : envelope {
  waiting_send(control_block& from, control_block& to, envelope& what, sending& who,
               handler_frame& frame) noexcept;

  void free() noexcept;

  // Held until it is out of the line, and has been sent to the sender.
  control_block* const sender;
  control_block* const receiver;
  pauses* const of;  // the receiver's system's
  envelope* const message;
  delivery became = delivery::refused;
  bool in_line = false;           // under the mutex
  waiting_send* later = nullptr;  // likewise
  waiting_send* earlier = nullptr;

  // The sender's turn's. Null: the handler has been destroyed.
  sending* awaited;
  handler_frame* const handler;
};

}  // namespace detail
}  // namespace troupe
