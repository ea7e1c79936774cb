// SPDX-License-Identifier: Apache-2.0
#include <troupe/mailbox/mailbox.hpp>

namespace troupe::detail {

void mailbox::open_busy() noexcept {
  ready_ = nullptr;
  ready_count_ = 0;
  // [life-open] relaxed: nobody can name the mailbox yet; opening the lifeline publishes it.
  head_.store(nullptr, relaxed);
}

void mailbox::append_reversed(envelope* newest) noexcept {
  envelope* oldest = nullptr;
  std::uint32_t count = 0;
  while (newest != nullptr) {
    envelope* const older = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = older;
    ++count;
  }
  // Only collect() and close() find messages on the list, and both are rare.
  envelope** end = &ready_;
  while (*end != nullptr) end = &(*end)->next;
  *end = oldest;
  ready_count_ += count;
}

std::size_t mailbox::collect() noexcept {
  refill();
  return ready_count_;
}

envelope* mailbox::close() noexcept {
  // [mailbox] acquire: as in refill(): the messages left behind are about to be read.
  // [mailbox-close] release: pairs with push().
  envelope* const newest = head_.exchange(closed(), acq_rel);
  if (is_message(newest)) append_reversed(newest);
  envelope* const left = ready_;
  ready_ = nullptr;
  ready_count_ = 0;
  return left;
}

}  // namespace troupe::detail
