// SPDX-License-Identifier: Apache-2.0
// How timers that are due fire: in a turn of the pool, or by the thread of the timers if none comes.
// docs/decisions/0016-where-timers-fire.md says why so.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <troupe/actor/control_block.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/scheduler/worker_pool.hpp>
#include <troupe/time/timer_wheel.hpp>

#include "runtime.hpp"
#include "timer_service.hpp"

namespace troupe::detail {

// Under the mutex, which it may let go. Returns when to come again.
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
      if (home_.conducted_by() != nullptr) {
        firing_->runs_on().schedule(*firing_);
      } else {
        home_.pool({}).schedule_for_the_running(*firing_);
      }
    }
    lock.lock();
    if (home_.conducted_by() != nullptr) wakes_at_ = never;  // it gets its turn
  } else if (home_.conducted_by() != nullptr) {
    return wakes_at_ = never;
  } else if (!has_woken_ && now >= firing_since_ + patience_with_the_running) {
    // Who runs is in something that lasts, and does not come by it.
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

// By the thread: all the workers are busy with something that lasts. Until the turn comes.
time_point timer_service::fire_instead(std::unique_lock<adaptive_mutex>& lock,
                                       time_point now) noexcept {
  const time_point since = firing_since_;
  while (fire_some(now) == most_at_once) {
    lock.unlock();
    lock.lock();
    if (firing_since_ != since) return now;  // looks again
  }
  return wakes_at_ = sleeps_until_ = wheel_.next_expiry().value_or(never);
}

// Under the mutex. Less than so many steps at once: no more are due.
std::size_t timer_service::fire_some(time_point now) noexcept {
  take_back(most_taken_back);
  if (conductor* const by = home_.conducted_by()) return fire_in_some_order(now, *by);
  return wheel_
      .advance(
          now, [&](timer_node& node) { fire(timer_entry::of(node), now); }, most_at_once)
      .steps();
}

// In a simulation: all, in an order that is chosen.
std::size_t timer_service::fire_in_some_order(time_point now, conductor& by) noexcept {
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

// In the turn of firing_. Lets others to the mutex between some and some.
void timer_service::fire_due() noexcept {
  std::unique_lock lock(mutex_);
  const time_point now = clock::now();
  firing_since_ = now;
  std::size_t fired = 0;
  while (fire_some(now) == most_at_once) {
    fired += most_at_once;
    if (fired == most_in_turn) {
      // The rest behind those for whom these were.
      (void)firing_->deliver_hidden(due_);  // it is not idle
      this_turn().counts->ask(activity::turn_over);
      return;
    }
    firing_since_ = clock::now();  // the thread need not come
    lock.unlock();
    lock.lock();
  }
  firing_since_ = never;
  const bool wakes = stopping_ || wheel_.next_expiry().value_or(never) < wakes_at_;
  if (!wakes) sleeps_until_ = wakes_at_;
  lock.unlock();
  if (wakes) parker_.notify();
}

// Under the mutex. The mailbox and the scheduler take no lock of the timers; of the user's code
// only a pump's wake-up callback can run here, which must not use Troupe.
void timer_service::fire(timer_entry& entry, time_point now) noexcept {
  if (entry.is_periodic()) {
    timer_details& of = *entry.what.details;
    // Periods that have passed altogether are not made up for.
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
  // A closed mailbox belongs to an actor that is about to cancel this timer.
  if (!entry.target->try_deliver_by_priority(*tick)) entry.end_tick();
}

}  // namespace troupe::detail
