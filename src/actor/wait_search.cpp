// SPDX-License-Identifier: Apache-2.0
#include "wait_search.hpp"

#include <mutex>
#include <thread>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/turn_context.hpp>

#include "pauses_walk.hpp"
#include "runtime.hpp"

namespace troupe::detail {

void wait_search::park(parked_search& one, control_block& sender, std::uint64_t number) noexcept {
  one.sender = &sender;
  one.number = number;
  one.next = nullptr;
  one.previous = std::exchange(last_, &one);
  (one.previous != nullptr ? one.previous->next : first_) = &one;
}

void wait_search::remove(parked_search& one) noexcept {
  if (std::exchange(one.sender, nullptr) == nullptr) return;
  (one.previous != nullptr ? one.previous->next : first_) = one.next;
  (one.next != nullptr ? one.next->previous : last_) = one.previous;
}

parked_search wait_search::take() noexcept {
  if (first_ == nullptr) {
    is_emptied_ = false;
    return {};
  }
  constexpr std::uint32_t newest_in_a_row = 1'023;
  parked_search& next = taken_++ % (newest_in_a_row + 1) == newest_in_a_row ? *first_ : *last_;
  const parked_search one = next;
  remove(next);
  return one;
}

void wait_search::empty() noexcept {
  pauses::search_in_progress at;
  while (pauses::go_on_searching(at)) std::this_thread::yield();
}

void wait_search::go_on(bool here) noexcept {
  {
    const std::lock_guard lock(waits_of_all::here().guard);
    if (keeps_parked_ || is_emptied_ || first_ == nullptr) return;
    is_emptied_ = true;
  }
  if (!here) {
    const std::lock_guard lock(thread_mutex_);
    try {
      if (thread_.joinable()) thread_.join();  // it has found the queue empty, and is about to end
      thread_ = start_thread("troupe/waits", [this] {
        this_turn().must_not_wait = true;
        empty();
      });
      return;
    } catch (...) {  // no memory, or no thread
    }
  }
  // Not under the mutex: a resumed actor is reported to the user's hook.
  empty();
}

void wait_search::join() noexcept {
  // [suspended] relaxed: the caller's own actors have terminated; those of others do not matter.
  if (pauses::suspended_anywhere() != 0) return;
  const std::lock_guard lock(thread_mutex_);
  if (thread_.joinable()) thread_.join();
}

}  // namespace troupe::detail
