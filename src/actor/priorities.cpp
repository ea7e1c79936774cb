// SPDX-License-Identifier: Apache-2.0
// High messages: how a turn learns of them, and how they come before the others.
//
// A sender pushes a high message like any other, and then, if somebody reads, sets the flag `high_pushed`
// beside what is urgent. A turn looks at that word before each message anyway. It takes the flag off and
// then what has been pushed, sorts it, and the rest of its list with it, into sorted_messages, and goes on
// from there; `high_sorted` brings it back here until nothing is left. So who gets no high messages pays
// nothing.
//
// Why none gets stuck: the message is in the mailbox before the flag is set. Where no flag is seen it is
// handled in the order of its coming; the flag only says how much sooner.
// Why no flag is lost: it is taken off before what was pushed is taken. One that is set behind that is
// seen at the next look, at the latest in the next turn; then it may say nothing new.
// Why an actor does not rest with something sorted: only where nothing is does bring_next() leave the
// turn to its mailbox.
// Why one does not overtake an earlier one of its sender: what is sorted is older than what is on the
// reader's list, where that is not what was kept, and that is older than what is pushed. They are sorted in
// this order, and both kinds stay in order.
#include <new>
#include <utility>

#include <troupe/actor/control_block.hpp>

#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe::detail {

// By a sender who holds the actor: the message may have been handled already, and have been its end.
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

// With no memory for a side block they are handled in the order of their coming.
void control_block::sort_waiting(bool with_pushed, activity& mine) noexcept {
  const std::uint8_t now = urgent_.load(relaxed);  // [high] relaxed: `high_sorted` is the turn's
  side_block* its = nullptr;
  try {
    its = &side();
  } catch (...) {
    urgent_.fetch_and(static_cast<std::uint8_t>(~high_pushed), relaxed);  // [high] nothing follows
    return;
  }
  sorted_messages& sorted = its->sorted;
  // Who found it idle put his message there.
  const std::uint32_t before = inbox().has_one_ready() ? 1 : 0;
  // Later, what is on the reader's list is what was kept: older than all that is sorted.
  if ((now & high_sorted) == 0) sorted.add(inbox().exchange_ready(nullptr));
  if (with_pushed) {
    // [high] acquire: what was pushed before the flag was set is found below.
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

// Puts the next message, if it is a sorted one, onto the reader's list. False: it is to be handled in
// another turn.
bool control_block::bring_next(bool may_handle, bool may_refill, activity& mine) noexcept {
  const side_block* const before = side_if_any();
  const bool is_to_look =
      (urgent_.load(relaxed) & high_pushed) != 0 ||  // [high] relaxed: only a look
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

// What the actor is told. If that is nothing, the next message is brought.
control_block::urgent control_block::look_at_urgent(std::size_t most, bool may_refill,
                                                    activity& mine) noexcept {
  const urgent told = told_in(urgent_.load(relaxed));  // [urgent]
  if (told == urgent::link_broken && !has_broken_link()) return urgent::look_again;
  if (told != urgent::nothing) return told;
  return bring_next(most != 0, may_refill, mine) ? urgent::nothing : urgent::end_of_turn;
}

// What was taken out of the mailbox and is not handled yet is on the reader's list again.
void control_block::put_all_back() noexcept {
  side_block* const its = side_if_any();
  if (its == nullptr) return;
  envelope* list = inbox().exchange_ready(nullptr);
  envelope** end = &list;
  while (*end != nullptr) end = &(*end)->next;
  while (!its->sorted.empty()) end = &(*end = &its->sorted.pop())->next;
  (void)inbox().exchange_ready(list);
  handle_kept_again();
}

}  // namespace troupe::detail
