// SPDX-License-Identifier: Apache-2.0
#include "timer_service.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <troupe/memory/pool.hpp>

#include "kept_message.hpp"
#include "marking.hpp"
#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe {

bool timer::cancel() noexcept {
  return entry_ != nullptr && entry_->service->cancel(*entry_, generation_);
}

}  // namespace troupe

namespace troupe::detail {

struct timer_access {
  static timer make(timer_entry& entry) noexcept { return {&entry, entry.generation}; }
};

timer arm(control_block& to, envelope& message, duration delay, duration period,
          clone_function clone) {
  control_block* const target = to.routed(message);
  if (target == nullptr) {
    to.dead_letter(message);
    message.how->discard(message);
    return {};
  }
  return target->home().timers().arm(*target, message, delay, period, clone);
}

namespace {

// Of the actor in whose turns timers fire. It has no object.
constexpr actor_type firing_type{.name = "timers",
                                 .object_bytes = 1,
                                 .object_alignment = 1,
                                 .object_offset = 0,
                                 .destroy = nullptr,
                                 .is_hidden = true};

}  // namespace

timer_service::timer_service(runtime& home) : wheel_(clock::now()), home_(home) {}

void timer_service::start() {
  firing_ = &home_.make_hidden(firing_type);
  stopping_ = false;
  skipped_ = 0;
  // The system before may have had another time.
  wheel_.restart(clock::now());
  sleeps_until_ = time_point::min();
  wakes_at_ = time_point::max();
  if (home_.conducted_by() != nullptr) {
    looks_at_ = time_point::min();
    return home_.conducted_by()->opened(*this);
  }
  try {
    thread_ = start_thread("troupe/timers", [this] { run(); });
  } catch (...) {
    end();
    throw;
  }
  pool_listen(*this);
}

void timer_service::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  parker_.notify();
  if (conductor* const by = home_.conducted_by()) {
    while (firing_since_ != never) thread_host::here()->sleep_until(never);
    return by->closed(*this);
  }
  thread_.join();
  // [surplus] relaxed: joined, and what comes after it is told to somebody else.
  const bool owes = trim_at_ != time_point::max() || surplus_.load(relaxed);
  pool_unlisten(*this, owes);
  surplus_.store(false, relaxed);  // [surplus] nobody tells any more
  trim_at_ = time_point::max();
}

void timer_service::end() noexcept { home_.end_hidden(*std::exchange(firing_, nullptr)); }

void timer_service::run() noexcept {
  this_turn().must_not_wait = true;
  std::unique_lock lock(mutex_);
  while (!stopping_ || firing_since_ != never) {
    const time_point now = clock::now();
    time_point until = see_to_due(lock, now);
    lock.unlock();
    until = std::min({until, pauses(now), trim(now), home_.cycles().look(now)});
    if (until != time_point::max()) {
      (void)parker_.park_until(until);
    } else {
      parker_.park();
    }
    lock.lock();
    sleeps_until_ = time_point::min();  // awake: arming need not notify
  }
}

// What the thread does, if it was notified or it is time.
time_point timer_service::look() noexcept {
  const bool is_notified = parker_.park_until(time_point::min());
  if (!is_notified && clock::now() < looks_at_) return looks_at_;
  const bool must_not_wait = std::exchange(this_turn().must_not_wait, true);
  std::unique_lock lock(mutex_);
  sleeps_until_ = time_point::min();
  const time_point now = clock::now();
  looks_at_ = see_to_due(lock, now);
  lock.unlock();
  looks_at_ = std::min({looks_at_, pauses(now), home_.cycles().look(now)});
  this_turn().must_not_wait = must_not_wait;
  return looks_at_;
}

// ── Senders that wait for room ────────────────────────────────────────────────────────────────

void timer_service::look_by(time_point when) noexcept {
  std::unique_lock lock(mutex_);
  const bool sooner = when < sleeps_until_;
  lock.unlock();
  if (sooner) parker_.notify();
}

// Without the mutex, because it tells the user. Returns when to come again.
time_point timer_service::pauses(time_point now) noexcept {
  const std::optional<time_point> next = home_.pauses().expire(now);
  if (!next) return time_point::max();
  // A pause that began since that look, and ends sooner, has notified this thread.
  const std::lock_guard lock(mutex_);
  sleeps_until_ = std::min(sleeps_until_, *next);
  return *next;
}

// ── Memory that nobody needs ──────────────────────────────────────────────────────────────────

// On any thread, which may hold any lock: so it only leaves a note.
void timer_service::on_surplus() noexcept {
  // [surplus] relaxed: the parker hands it over.
  surplus_.store(true, relaxed);
  parker_.notify();
}

// Returns when there is more to do. It does a little at a time, so that no timer is late for it.
time_point timer_service::trim(time_point now) noexcept {
  constexpr std::size_t steps = 16;  // some 100 microseconds
  if (trim_at_ <= now) {
    switch (pool_trim(steps)) {
      case pool_rest::now:
        break;
      case pool_rest::later:
        trim_at_ = clock::now() + pool_between_rounds;
        break;
      case pool_rest::nothing:
        trim_at_ = time_point::max();
        break;
    }
  }
  // Only where no round is due: what is told during one may not be part of it any more.
  // [surplus] relaxed: as above.
  if (trim_at_ == time_point::max() && surplus_.load(relaxed)) {
    surplus_.store(false, relaxed);  // [surplus] a note that comes now says the same
    trim_at_ = now + pool_between_rounds;
  }
  return trim_at_;
}

// ── Timers ────────────────────────────────────────────────────────────────────────────────────

timer timer_service::arm(control_block& to, envelope& message, duration delay, duration period,
                         clone_function clone) {
  struct discard_unless_armed {
    envelope* message;
    ~discard_unless_armed() {
      if (message != nullptr) message->how->discard(*message);
    }
  } guard{&message};
  side_block& side = to.side();
  std::unique_lock lock(mutex_);
  if (to.line().now_in_order().ended()) {
    lock.unlock();
    to.dead_letter(message);
    return {};
  }
  timer_entry& entry = take_free();
  const timer handle = timer_access::make(entry);
  to.hold();
  entry.target = &to;
  entry.how = message.how->high ? &high_tick_dispatch : &tick_dispatch;
  entry.message = std::exchange(guard.message, nullptr);
  entry.clone = clone;
  // The wheel knows nothing shorter than its tick.
  entry.period = std::max<duration>(period, timer_wheel::tick);
  // The clock is read afresh, so that nothing is early.
  const time_point now = clock::now();
  entry.deadline = later(now, delay);
  entry.live = true;
  entry.was_late = false;
  entry.queued = entry.cloning = entry.alarm = false;
  entry.own = this_turn().running == &to;
  entry.trace = home_.traces ? this_turn().trace : 0;
  entry.previous_of_actor = nullptr;
  entry.next_of_actor = std::exchange(side.timers, &entry);
  if (entry.next_of_actor != nullptr) entry.next_of_actor->previous_of_actor = &entry;
  ++armed_;
  wheel_.insert(entry, entry.deadline);
  const bool sooner = entry.deadline < sleeps_until_;
  lock.unlock();
  if (sooner) parker_.notify();
  return handle;
}

bool timer_service::cancel(timer_entry& entry, std::uint64_t generation) noexcept {
  remains left;
  {
    const std::lock_guard lock(mutex_);
    if (entry.generation != generation || !entry.live) return false;
    retire(entry, left);
  }
  left.dispose();
  return true;
}

void timer_service::cancel_all(control_block& of) noexcept {
  side_block& side = *of.side_if_any();
  for (;;) {
    remains left;
    {
      const std::lock_guard lock(mutex_);
      if (side.timers == nullptr) return;
      retire(*side.timers, left);
    }
    left.dispose();
  }
}

// All at once, so that those of others are passed by only once.
void timer_service::cancel_own(control_block& of) noexcept {
  envelope* messages = nullptr;
  std::size_t references = 0;
  {
    const std::lock_guard lock(mutex_);
    for (timer_entry* one = of.side_if_any()->timers; one != nullptr;) {
      timer_entry& each = *std::exchange(one, one->next_of_actor);
      if (!each.own || each.alarm) continue;
      remains left;
      retire(each, left);
      ++references;
      if (left.message == nullptr) continue;
      left.message->next = std::exchange(messages, left.message);
    }
  }
  while (messages != nullptr) {
    envelope& each = *std::exchange(messages, messages->next);
    each.how->discard(each);
  }
  while (references-- != 0) of.let_go();
}

// Under the mutex. Not live any more; out of the wheel and of its actor's list. What was held is
// handed out in `left`.
void timer_service::retire(timer_entry& entry, remains& left) noexcept {
  entry.live = false;
  if (!entry.alarm) --armed_;
  wheel_.remove(entry);
  (entry.previous_of_actor != nullptr ? entry.previous_of_actor->next_of_actor
                                      : entry.target->side_if_any()->timers) = entry.next_of_actor;
  if (entry.next_of_actor != nullptr)
    entry.next_of_actor->previous_of_actor = entry.previous_of_actor;
  if (!entry.cloning) left.message = std::exchange(entry.message, nullptr);
  control_block* const target = std::exchange(entry.target, nullptr);
  if (entry.alarm) {
    target->side_if_any()->alarm = nullptr;
  } else {
    left.target = target;
  }
  free_if_done(entry);
}

void timer_service::free_if_done(timer_entry& entry) noexcept {
  if (entry.live || entry.queued) return;
  ++entry.generation;
  entry.next_of_actor = std::exchange(free_, &entry);
}

timer_entry& timer_service::take_free() {
  if (free_ == nullptr) {
    timer_entry& fresh = entries_.fresh();
    fresh.service = this;
    return fresh;
  }
  return *std::exchange(free_, free_->next_of_actor);
}

void timer_service::remains::dispose() noexcept {
  if (message != nullptr) message->how->discard(*message);
  if (target != nullptr) target->let_go();
}

void timer_service::run_tick(void* actor, envelope& tick) {
  timer_entry& entry = static_cast<timer_entry&>(tick);
  entry.service->handle(entry, actor);
}

void timer_service::discard_tick(envelope& tick) noexcept {
  timer_entry& entry = static_cast<timer_entry&>(tick);
  const std::lock_guard lock(entry.service->mutex_);
  entry.queued = false;
  entry.service->free_if_done(entry);
}

// ── Alarms ────────────────────────────────────────────────────────────────────────────────────

void timer_service::alarm_by(control_block& of, time_point when) {
  side_block& side = of.side();
  std::unique_lock lock(mutex_);
  if (side.alarm == nullptr) {
    timer_entry& entry = take_free();
    entry.target = &of;
    entry.how = &alarm_dispatch;
    entry.message = nullptr;
    entry.clone = nullptr;
    entry.live = entry.alarm = true;
    entry.queued = entry.cloning = false;
    entry.previous_of_actor = nullptr;
    entry.next_of_actor = std::exchange(side.timers, &entry);
    if (entry.next_of_actor != nullptr) entry.next_of_actor->previous_of_actor = &entry;
    side.alarm = &entry;
  }
  timer_entry& entry = *side.alarm;
  if (entry.queued) return;  // it looks, and then says when to look again
  wheel_.remove(entry);
  entry.deadline = when;
  entry.was_late = false;
  wheel_.insert(entry, when);
  const bool sooner = when < sleeps_until_;
  lock.unlock();
  if (sooner) parker_.notify();
}

// Under the mutex. The actor has not gone over its timers yet, so that its slot is still its own.
void timer_service::fire_alarm(timer_entry& entry) noexcept {
  control_block& target = *entry.target;
  lifeline& line = target.line();
  const lifeline::state seen = line.now_after_others();
  if (!line.try_hold(seen.generation())) {
    // Whether it ends is being decided by the search for cycles, which is not to be waited for under the mutex.
    if (!seen.ending() || seen.undecided()) wheel_.insert(entry, clock::now());
    return;
  }
  entry.queued = true;
  if (!target.try_deliver(entry)) entry.queued = false;
  target.let_go();
}

void timer_service::handle_alarm(timer_entry& entry) {
  {
    const std::lock_guard lock(mutex_);
    entry.queued = false;
    if (!entry.live) return free_if_done(entry);
  }
  this_turn().running->look_at_the_time();
}

// ── A tick is handled ─────────────────────────────────────────────────────────────────────────

// Timers that are due lie anywhere in memory, and each brings three lines that nothing else has touched.
void timer_service::prefetch_after(const timer_entry& entry) noexcept {
  const control_block* const me = this_turn().running;
  const envelope* const next = me->comes_next();
  if (next == nullptr || next->how != entry.how) return;
  const auto& soon = static_cast<const timer_entry&>(*next);
  __builtin_prefetch(soon.message);
  if (soon.next_of_actor != nullptr) __builtin_prefetch(&soon.next_of_actor->previous_of_actor, 1);
  if (soon.previous_of_actor != nullptr) {
    __builtin_prefetch(&soon.previous_of_actor->next_of_actor, 1);
  }
  if (next->next == nullptr || next->next->how != entry.how) return;
  const auto& later = static_cast<const timer_entry&>(*next->next);
  __builtin_prefetch(&later.previous_of_actor, 1);
}

// In the turn of the timer's actor.
void timer_service::handle(timer_entry& entry, void* actor) {
  if (entry.alarm) return handle_alarm(entry);
  envelope* message = nullptr;
  struct dispose_at_the_end {
    remains left;
    ~dispose_at_the_end() { left.dispose(); }
  } guard;
  std::unique_lock lock(mutex_);
  if (!entry.live) {
    entry.queued = false;
    free_if_done(entry);
    return;
  }
  const std::uint64_t trace = entry.trace;
  if (entry.clone == nullptr) {
    prefetch_after(entry);
    message = std::exchange(entry.message, nullptr);
    entry.queued = false;
    retire(entry, guard.left);
  } else {
    // Copying is the user's code. The entry stays queued, so that it is not freed meanwhile.
    entry.cloning = true;
    lock.unlock();
    struct over {
      timer_service& service;
      timer_entry& entry;
      envelope*& cancelled;
      ~over() {
        const std::lock_guard again(service.mutex_);
        entry.cloning = entry.queued = false;
        if (!entry.live) cancelled = std::exchange(entry.message, nullptr);
        service.free_if_done(entry);
      }
    } until_copied{*this, entry, guard.left.message};
    message = entry.clone(*entry.message);
  }
  if (lock.owns_lock()) lock.unlock();
  this_turn().running->now_handling(*message->how);
  if (home_.looked_at) {
    this_turn().trace = trace;
    mark_in_place(*message, home_);
  }
  const unwrapped_scope scope;
  message->how->run(actor, *message);
}

bool timer_service::has_timers(const control_block& of) const noexcept {
  const side_block* const its = of.side_if_any();
  const std::lock_guard lock(mutex_);
  return its != nullptr && its->timers != nullptr;
}

std::uint64_t timer_service::armed() const noexcept {
  const std::lock_guard lock(mutex_);
  return armed_;
}

std::uint64_t timer_service::skipped() const noexcept {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

}  // namespace troupe::detail
