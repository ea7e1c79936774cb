// SPDX-License-Identifier: Apache-2.0
// A tick after it has been put into a mailbox: it is handled there, or discarded with the mailbox.
#include <cstdint>
#include <mutex>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/base/clock.hpp>

#include "kept_message.hpp"
#include "observed_messages.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "timer_service.hpp"

namespace troupe::detail {

namespace {

timer_entry& of_details(envelope& tick) noexcept {
  return *reinterpret_cast<timer_details*>(&tick)->entry;
}

timer_service& service_of_this_turn() noexcept { return this_turn().running->home().timers(); }

}  // namespace

void timer_service::run_tick(void* actor, envelope& tick) {
  service_of_this_turn().handle_once(timer_entry::of(tick), actor);
}
void timer_service::run_tick_of_details(void* actor, envelope& tick) {
  service_of_this_turn().handle(of_details(tick), actor);
}
void timer_service::run_alarm(void*, envelope& tick) {
  service_of_this_turn().handle_alarm(timer_entry::of(tick));
}

// The mailbox that it was in belongs to the target, which exists as long as the mailbox does.
void timer_service::discard_tick(envelope& tick) noexcept {
  timer_entry& entry = timer_entry::of(tick);
  entry.target->home().timers().end_tick(entry);
}
void timer_service::discard_tick_of_details(envelope& tick) noexcept {
  timer_entry& entry = of_details(tick);
  entry.target->home().timers().end_tick(entry);
}

void timer_service::end_tick(timer_entry& entry) noexcept {
  const std::lock_guard lock(mutex_);
  entry.end_tick();
  free_if_done(entry);
}

// ── Alarms ────────────────────────────────────────────────────────────────────────────────────

void timer_service::alarm_by(control_block& of, time_point when) {
  side_block& side = of.side();
  std::unique_lock lock(mutex_);
  if (side.alarm == nullptr) {
    timer_entry& entry = take_free();
    entry.target = &of;
    entry.live = entry.alarm = true;
    entry.queued = entry.cloning = entry.own = entry.high = false;
    insert_first(side, entry);
    side.alarm = &entry;
  }
  timer_entry& entry = *side.alarm;
  if (entry.queued) return;  // the actor will check the table, and then say when to check again
  wheel_.remove(entry.node());
  entry.was_late = false;
  wheel_.insert(entry.node(), when);
  const bool sooner = when < sleeps_until_;
  lock.unlock();
  if (sooner) parker_.notify();
}

// Call under the mutex. The actor has not cancelled its timers yet, so its slot is still its own.
void timer_service::fire_alarm(timer_entry& entry) noexcept {
  control_block& target = *entry.target;
  lifeline& line = target.line();
  const lifeline::state seen = line.now_after_others();
  if (!line.try_hold(seen.generation())) {
    // The search for reference cycles is deciding whether the actor terminates; that must not be
    // waited for under the mutex.
    if (!seen.ending()) wheel_.insert(entry.node(), clock::now());
    return;
  }
  if (!target.try_deliver(entry.begin_tick(alarm_dispatch))) {
    entry.end_tick();
  } else if (pauses::suspended_anywhere() != 0) {
    try {
      overdue_.push_back(&target);
      return;
    } catch (...) {
      // No memory: it is resumed when there is room.
    }
  }
  target.let_go();
}

void timer_service::handle_alarm(timer_entry& entry) {
  {
    const std::lock_guard lock(mutex_);
    entry.end_tick();
    if (!entry.live) return free_if_done(entry);
  }
  this_turn().running->look_at_the_time();
}

// ── Handling a tick ───────────────────────────────────────────────────────────────────────────

// The messages of due timers are scattered in memory. The fields that are read here do not change
// while the tick is queued.
void timer_service::prefetch_after(const envelope& tick) noexcept {
  const envelope* const next = this_turn().running->comes_next();
  if (next == nullptr || next->how != tick.how) return;
  __builtin_prefetch(timer_entry::of(*next).what.message);
  if (next->next != nullptr) __builtin_prefetch(next->next);
}

// In the turn of the timer's actor, without the mutex.
void timer_service::handle_once(timer_entry& entry, void* actor) {
  prefetch_after(entry.tick());
  remains left;
  if (entry.claim()) left = {entry.what.message, entry.target};
  handled_.push(entry.tick());
  if (left.message == nullptr) return;  // cancelled
  struct let_go_at_the_end {
    control_block& target;
    ~let_go_at_the_end() { target.let_go(); }
  } const guard{*left.target};
  run_message(*left.message, actor, 0);
}

// In the turn of the timer's actor.
void timer_service::handle(timer_entry& entry, void* actor) {
  envelope* message = nullptr;
  struct dispose_at_the_end {
    remains left;
    ~dispose_at_the_end() { left.dispose(); }
  } guard;
  std::unique_lock lock(mutex_);
  if (!entry.live) {
    entry.end_tick();
    free_if_done(entry);
    return;
  }
  const timer_details& original = *entry.what.details;
  const std::uint64_t trace = original.trace;
  if (!entry.is_periodic()) {
    message = std::exchange(entry.message(), nullptr);
    entry.end_tick();
    retire(entry, guard.left);
  } else {
    // Copying runs user code. The entry stays queued, so that it is not freed meanwhile.
    entry.cloning = true;
    lock.unlock();
    struct over {
      timer_service& service;
      timer_entry& entry;
      envelope*& cancelled;
      ~over() {
        const std::lock_guard again(service.mutex_);
        entry.cloning = false;
        entry.end_tick();
        if (!entry.live) cancelled = std::exchange(entry.message(), nullptr);
        service.free_if_done(entry);
      }
    } until_copied{*this, entry, guard.left.message};
    message = original.clone(*original.message);
  }
  if (lock.owns_lock()) lock.unlock();
  run_message(*message, actor, trace);
}

void timer_service::run_message(envelope& message, void* actor, std::uint64_t trace) {
  this_turn().running->now_handling(*message.how);
  if (home_.looked_at) {
    this_turn().trace = trace;
    mark_in_place(message, home_);
  }
  const unwrapped_scope scope;
  message.how->run(actor, message);
}

}  // namespace troupe::detail
