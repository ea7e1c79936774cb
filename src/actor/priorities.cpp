// SPDX-License-Identifier: Apache-2.0
// High-priority messages: how a turn learns of them, and how they are handled before the others.
//
// A sender pushes a high-priority message like any other. Then, if the actor is not idle, it sets
// the flag `high_pushed` in the word of urgent marks, which a turn reads before each message
// anyway. The turn clears the flag, takes what has been pushed, and sorts it, together with the
// rest of its list, into sorted_messages. It continues from there; `high_sorted` brings it back
// here until nothing is left. So actors without high-priority messages pay nothing.
//
// Why no message gets stuck: the message is in the mailbox before the flag is set. If the flag is
// not seen, the message is handled in order of arrival; the flag only makes it earlier.
//
// Why no flag is lost: it is cleared before the pushed messages are taken. A flag that is set after
// that is seen at the next check, which the next turn makes if not this one; then it may bring no
// new message.
//
// Why an actor does not rest with sorted messages: bring_next() leaves the turn to its mailbox only
// if nothing is sorted.
//
// Why a message does not overtake an earlier one of its sender: sorted messages are older than
// those on the reader's list, unless those were stashed, and the list is older than the pushed
// messages. They are sorted in this order, and each priority stays in order.
#include <new>
#include <utility>

#include <troupe/detail/actor/control_block.hpp>

#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe::detail {

// Called by a sender that holds the actor: the message may have been handled already, and may have
// ended the actor.
void control_block::tell_high() noexcept {
  // [high] release: the message is in the mailbox before the flag.
  urgent_.fetch_or(high_pushed, release);
}

bool control_block::try_deliver_by_priority(envelope& message) noexcept {
  if (!message.how->high) return try_deliver(message);
  hold();
  const mailbox::pushed result = inbox().push(message);
  if (result != mailbox::pushed::closed) count_accepted(*home_, 0);
  if (result == mailbox::pushed::to_busy) tell_high();
  if (result == mailbox::pushed::to_idle) executor_->schedule(*this);
  let_go();
  return result != mailbox::pushed::closed;
}

// Without memory for a side block, the messages are handled in order of arrival.
void control_block::sort_waiting(bool with_pushed, activity& mine) noexcept {
  const std::uint8_t now = urgent_.load(relaxed);  // [high] relaxed: `high_sorted` is the turn's
  side_block* its = nullptr;
  try {
    its = &side();
  } catch (...) {
    // [high] nothing follows
    urgent_.fetch_and(static_cast<std::uint8_t>(~high_pushed), relaxed);
    return;
  }
  sorted_messages& sorted = its->sorted;
  // A sender that found the actor idle put its message there.
  const std::uint32_t before = inbox().has_one_ready() ? 1 : 0;
  // Later, only stashed messages are on the reader's list: they are older than everything sorted.
  if ((now & high_sorted) == 0) {
    if (has_examined()) forget_examined(*its);
    sorted.add(inbox().exchange_ready(nullptr));
  }
  if (with_pushed) {
    // [high] acquire: messages that were pushed before the flag was set are found below.
    urgent_.fetch_and(static_cast<std::uint8_t>(~high_pushed), acquire);
    envelope* const kept = inbox().exchange_ready(nullptr);
    const mailbox::refilled got = inbox().refill(rules().low);
    sorted.add(inbox().exchange_ready(kept));
    mine.depth_highest.raise_to(before + got.messages);
    if (got.room) home().pauses().release_waiters_of(*this);
  }
  if ((now & high_sorted) == 0 && !sorted.empty())
    urgent_.fetch_or(high_sorted, relaxed);  // [high]
}

// Puts the next message, if it is a sorted one, onto the reader's list. False: it is to be handled
// in another turn.
bool control_block::bring_next(bool may_handle, bool may_refill, activity& mine) noexcept {
  const side_block* const before = side_if_any();
  const bool is_to_look =
      (urgent_.load(relaxed) & high_pushed) != 0 ||  // [high] relaxed: only a hint
      (before != nullptr && before->sorted.is_to_look());
  sort_waiting(may_refill && is_to_look, mine);
  side_block* const its = side_if_any();
  if (inbox().has_ready() || its == nullptr || its->sorted.empty()) return true;
  if (!may_handle) return false;
  envelope& next = its->sorted.pop();
  (void)inbox().exchange_ready(&next);
  if (its->sorted.empty()) {
    urgent_.fetch_and(static_cast<std::uint8_t>(~high_sorted), relaxed);  // [high] the turn's
  }
  return true;
}

// Returns the urgent mark, if any. Otherwise it brings the next message.
control_block::urgent control_block::look_at_urgent(std::size_t most, bool may_refill,
                                                    activity& mine) noexcept {
  const urgent told = told_in(urgent_.load(relaxed));  // [urgent]
  if (told == urgent::link_broken && !has_broken_link()) return urgent::look_again;
  if (told != urgent::nothing) return told;
  return bring_next(most != 0, may_refill, mine) ? urgent::nothing : urgent::end_of_turn;
}

// Puts messages that were taken out of the mailbox and not handled back onto the reader's list.
void control_block::put_all_back() noexcept {
  side_block* const its = side_if_any();
  if (its == nullptr) return;
  if (has_examined()) forget_examined(*its);
  envelope* list = inbox().exchange_ready(nullptr);
  envelope** end = &list;
  while (*end != nullptr) end = &(*end)->next;
  while (!its->sorted.empty()) end = &(*end = &its->sorted.pop())->next;
  (void)inbox().exchange_ready(list);
  handle_kept_again();
}

}  // namespace troupe::detail
