// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/mailbox/mailbox.hpp>

#include <algorithm>

namespace troupe::detail {

void mailbox::open_busy() noexcept {
  list_.ready_ = nullptr;
  list_.handled_ = 0;
  // [life-open] relaxed: no other thread can reach the mailbox yet; opening the lifeline publishes
  // it.
  shared_.head_.store(0, relaxed);
}

std::uint32_t mailbox::append_all_reversed(mailbox_list& list, envelope* newest) noexcept {
  envelope* oldest = nullptr;
  std::uint32_t count = 0;
  while (newest != nullptr) {
    envelope* const older = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = older;
    ++count;
  }
  // The list holds messages already if a reader collects before its turn, or in close(); both are
  // rare.
  envelope* last = list.ready_;
  if (last == nullptr) {
    list.ready_ = oldest;
    return count;
  }
  while (last->next != nullptr) last = last->next;
  last->next = oldest;
  return count;
}

// A sender has asked for room, and there is room now.
mailbox::refilled mailbox::refill_with_room(mailbox of, word head) noexcept {
  word left;
  do {
    left = of.left_of(head);
    // [mailbox] acquire: as in refill_from().
  } while (!of.shared_.head_.compare_exchange_weak(head, left, acquire, relaxed));
  of.list_.handled_ = 0;
  return {has_message(head) ? of.append_reversed(message_of(head)) : 0, true};
}

bool mailbox::want_room(std::uint32_t low) noexcept {
  word head = shared_.head_.load(relaxed);  // [room] relaxed: checked by the exchange
  do {
    if (head == closed || units_of(head) <= low) return false;
    if ((head & room_wanted) != 0) return true;
    // [room] relaxed: publishes nothing. The reader cannot rest, nor lower the count below `low`,
    // without an exchange of this word that finds the mark. [mailbox] Both orders continue the
    // release sequences of earlier pushes.
  } while (!shared_.head_.compare_exchange_weak(head, head | room_wanted, relaxed, relaxed));
  return true;
}

bool mailbox::make_room(std::uint32_t low) noexcept {
  // [room] relaxed: the count is only an amount and publishes no message. Only the reader lowers
  // it, so it is still at least `off` when `off` is subtracted.
  const word off = std::min<std::uint32_t>(list_.handled_, units_of(shared_.head_.load(relaxed)));
  list_.handled_ = 0;
  const word before = shared_.head_.fetch_sub(off, relaxed);  // [room]
  const word left = units_of(before) - off;
  if ((before & room_wanted) == 0 || left > low) return false;
  shared_.head_.fetch_and(~room_wanted, relaxed);  // [room] relaxed: as above
  return true;
}

mailbox::remains mailbox::close() noexcept {
  // [mailbox] acquire: as in refill(); the caller is about to read the remaining messages.
  // [mailbox-close] release: pairs with push().
  return remains_of(shared_.head_.exchange(closed, acq_rel));
}

}  // namespace troupe::detail
