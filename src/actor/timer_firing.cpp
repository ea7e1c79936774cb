// SPDX-License-Identifier: Apache-2.0
// How due timers fire: in a turn of the pool, or on the timer thread if no such turn is given in
// time. docs/decisions/0016-where-timers-fire.md gives the reasons.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/scheduler/worker_pool.hpp>
#include <troupe/detail/time/timer_wheel.hpp>

#include "runtime.hpp"
#include "timer_service.hpp"

namespace troupe::detail {

// Call under the mutex, which it may release. Returns when to call it again.
time_point timer_service::see_to_due(std::unique_lock<adaptive_mutex>& lock,
                                     time_point now) noexcept {
  const auto next = [this] { return wheel_.next_expiry().value_or(never); };
  if (firing_since_ == never) {
    if (next() > now) return wakes_at_ = sleeps_until_ = next();
    firing_since_ = now;
    has_woken_ = false;
    wakes_at_ = now + patience_with_the_running;
    lock.unlock();
    if (firing_->deliver_hidden(due_)) {
      if (home_.driver() != nullptr) {
        firing_->runs_on().schedule(*firing_);
      } else {
        home_.pool({}).schedule_for_the_running(*firing_);
      }
    }
    lock.lock();
    if (home_.driver() != nullptr) wakes_at_ = never;  // its turn will come
  } else if (home_.driver() != nullptr) {
    return wakes_at_ = never;
  } else if (!has_woken_ && now >= firing_since_ + patience_with_the_running) {
    // The running workers are in long handlers, and do not see the actor.
    has_woken_ = true;
    wakes_at_ = firing_since_ + patience;
    lock.unlock();
    home_.pool({}).wake_for_the_injected();
    lock.lock();
  } else if (now >= firing_since_ + patience) {
    return fire_instead(lock, now);
  } else {
    wakes_at_ = firing_since_ + patience;
  }
  return wakes_at_;
}

// Called on the timer thread, because all workers are busy with long handlers; until the turn
// comes.
time_point timer_service::fire_instead(std::unique_lock<adaptive_mutex>& lock,
                                       time_point now) noexcept {
  const time_point since = firing_since_;
  while (fire_some(now) == most_at_once) {
    let_overdue_go_on(lock);
    lock.unlock();
    lock.lock();
    if (firing_since_ != since) return now;  // checks again
  }
  let_overdue_go_on(lock);
  return wakes_at_ = sleeps_until_ = wheel_.next_expiry().value_or(never);
}

// Call under the mutex. If it returns less than most_at_once, no more timers are due.
std::size_t timer_service::fire_some(time_point now) noexcept {
  take_back(most_taken_back);
  if (simulation_driver* const by = home_.driver()) return fire_in_some_order(now, *by);
  return wheel_
      .advance(
          now, [&](timer_node& node) { fire(timer_entry::of(node), now); }, most_at_once)
      .steps();
}

// In a simulation: fires all due timers, in an order that the driver chooses.
std::size_t timer_service::fire_in_some_order(time_point now, simulation_driver& by) noexcept {
  std::vector<timer_entry*> due;
  (void)wheel_.advance(now, [&](timer_node& node) { due.push_back(&timer_entry::of(node)); });
  while (!due.empty()) {
    const std::size_t which = by.choose(due.size(), "which timer fires");
    timer_entry& entry = *due[which];
    due.erase(due.begin() + static_cast<std::ptrdiff_t>(which));
    const duration late = entry.was_late ? duration::zero() : by.lateness();
    entry.was_late = false;
    if (late > duration::zero()) {
      entry.was_late = true;
      wheel_.insert(entry.node(), now + late);
    } else {
      fire(entry, now);
    }
  }
  return 0;
}

void timer_service::run_due(void*, envelope&) {
  turn_context& here = this_turn();
  here.after |= after::uncounted;
  here.running->home().timers().fire_due();
}
void timer_service::discard_due(envelope&) noexcept {}

// In the turn of firing_. Releases the mutex between batches, so that other threads can take it.
void timer_service::fire_due() noexcept {
  std::unique_lock lock(mutex_);
  const time_point now = clock::now();
  firing_since_ = now;
  std::size_t fired = 0;
  while (fire_some(now) == most_at_once) {
    fired += most_at_once;
    let_overdue_go_on(lock);
    if (fired == most_in_turn) {
      // The remaining timers fire after the messages that these have sent are handled.
      (void)firing_->deliver_hidden(due_);  // it is not idle
      this_turn().counts->ask(activity::turn_over);
      return;
    }
    firing_since_ = clock::now();  // so the thread need not take over
    lock.unlock();
    lock.lock();
  }
  let_overdue_go_on(lock);
  firing_since_ = never;
  const bool wakes = stopping_ || wheel_.next_expiry().value_or(never) < wakes_at_;
  if (!wakes) sleeps_until_ = wakes_at_;
  lock.unlock();
  if (wakes) parker_.notify();
}

// Call under the mutex. The mailbox and the scheduler take no lock of the timers. The only user
// code that can run here is a pump's wake-up callback, which must not use Troupe.
void timer_service::fire(timer_entry& entry, time_point now) noexcept {
  if (entry.is_periodic()) {
    timer_details& of = *entry.what.details;
    // Periods that have been missed entirely are not made up for.
    const auto missed = (now - of.deadline) / of.period;
    of.deadline += (missed + 1) * of.period;
    skipped_ += static_cast<std::uint64_t>(missed);
    wheel_.insert(entry.node(), of.deadline);
    if (entry.queued) {
      ++skipped_;
      return;
    }
  }
  if (entry.alarm) return fire_alarm(entry);
  envelope* tick = nullptr;
  if (entry.has_details) {
    entry.queued = true;
    tick = &entry.what.details->tick;
  } else {
    tick = &entry.begin_tick(entry.high ? high_tick_dispatch : tick_dispatch);
  }
  // If the mailbox is closed, its actor is about to cancel this timer.
  if (!entry.target->try_deliver_by_priority(*tick)) entry.end_tick();
}

}  // namespace troupe::detail
