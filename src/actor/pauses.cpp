// SPDX-License-Identifier: Apache-2.0
#include "pauses.hpp"

#include <mutex>
#include <utility>

#include <troupe/actor/control_block.hpp>

#include "runtime.hpp"
#include "side_block.hpp"
#include "timer_service.hpp"

namespace troupe::detail {

// Without the mutex. Nothing of the entry may be touched afterwards: its actor runs, its thread goes on.
void pauses::released::go_on() noexcept {
  if (entry == nullptr) return;
  if (entry->sender == nullptr) {
    entry->thread->notify();
  } else {
    entry->sender->runs_on().schedule(*entry->sender);
    receiver->let_go();
  }
}

// Under the mutex. False if there is room, so that there is nothing to wait for. `other`: the receiver
// itself, if it has waited for somebody.
bool pauses::link(paused_sender& entry, control_block& receiver, released& other) noexcept {
  // The mark comes under the same mutex as the entry: a reader that finds the mark finds the entry.
  if (!receiver.want_room()) return false;
  side_block& its = *receiver.side_if_any();
  entry.waits_for = &receiver;
  entry.until = later(clock::now(), longest_);
  entry.previous = nullptr;
  entry.next = std::exchange(its.waiters, &entry);
  if (entry.next != nullptr) entry.next->previous = &entry;
  if (entry.sender != nullptr) {
    entry.later = nullptr;
    entry.earlier = std::exchange(last_, &entry);
    (entry.earlier != nullptr ? entry.earlier->later : first_) = &entry;
  }
  ++waiting_;
  if (its.pause.waits_for != nullptr) other = unlink(its.pause);
  return true;
}

// Under the mutex.
pauses::released pauses::unlink(paused_sender& entry) noexcept {
  control_block* const receiver = std::exchange(entry.waits_for, nullptr);
  (entry.previous != nullptr ? entry.previous->next : receiver->side_if_any()->waiters) =
      entry.next;
  if (entry.next != nullptr) entry.next->previous = entry.previous;
  if (entry.sender != nullptr) {
    (entry.earlier != nullptr ? entry.earlier->later : first_) = entry.later;
    (entry.later != nullptr ? entry.later->earlier : last_) = entry.earlier;
  }
  --waiting_;
  return {&entry, receiver};
}

bool pauses::pause(control_block& sender, control_block& receiver) noexcept {
  time_point until{};
  bool paused = false;
  released other;
  try {
    paused_sender& mine = sender.side().pause;
    (void)receiver.side();
    const std::lock_guard lock(mutex_);
    mine.sender = &sender;
    // Who tells it to stop does so before he comes here: it is seen here, or he finds the entry.
    // An actor on which somebody waits is not paused.
    paused = !sender.is_told_to_stop() && sender.side().waiters == nullptr &&
             link(mine, receiver, other);
    if (paused && first_ == &mine) until = mine.until;
  } catch (...) {
    // No memory for a side block: it is not paused.
  }
  if (!paused) {
    receiver.let_go();
    return false;
  }
  // From here on the sender may run, or be gone; who releases it lets go of the receiver.
  other.go_on();
  if (until != time_point{}) timers_.look_by(until);
  return true;
}

bool pauses::wait_here(control_block& receiver) noexcept {
  parker here;
  paused_sender mine{.thread = &here};
  released other;
  try {
    (void)receiver.side();
    const std::lock_guard lock(mutex_);
    if (!link(mine, receiver, other)) return true;
  } catch (...) {
    return true;  // no memory for a side block: it does not wait
  }
  other.go_on();
  if (here.park_until(mine.until)) return true;
  {
    const std::lock_guard lock(mutex_);
    if (mine.waits_for != nullptr) {
      (void)unlink(mine);
      return false;
    }
  }
  here.park();  // released just now: the token is on its way, and needs this stack
  return true;
}

// The line comes first: who is paused sends when he runs again.
void pauses::release_waiters_of(control_block& receiver) noexcept {
  let_line_in(receiver);
  release_paused_of(receiver);
}

void pauses::release_paused_of(control_block& receiver) noexcept {
  paused_sender* list = nullptr;
  {
    const std::lock_guard lock(mutex_);
    side_block* const its = receiver.side_if_any();
    if (its == nullptr) return;
    while (its->waiters != nullptr) {  // the newest first; so they go on in the order of coming
      paused_sender& each = *its->waiters;
      (void)unlink(each);
      each.next = std::exchange(list, &each);
    }
  }
  while (list != nullptr) {
    paused_sender& each = *std::exchange(list, list->next);
    released{&each, &receiver}.go_on();
  }
}

void pauses::release(control_block& sender) noexcept {
  released that;
  side_block* its = nullptr;
  {
    // The mutex comes first: who is about to pause makes his side block, and then looks under the
    // mutex whether he is told to stop.
    const std::lock_guard lock(mutex_);
    its = sender.side_if_any();
    if (its == nullptr || its->pause.waits_for == nullptr) return;
    that = unlink(its->pause);
  }
  that.go_on();
}

std::optional<time_point> pauses::expire(time_point now) noexcept {
  for (;;) {
    released that;
    {
      const std::lock_guard lock(mutex_);
      if (first_ == nullptr) return {};
      if (first_->until > now) return first_->until;
      that = unlink(*first_);
    }
    that.receiver->count_pause_timed_out();
    that.go_on();
  }
}

std::uint64_t pauses::waiting() const noexcept {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace troupe::detail
