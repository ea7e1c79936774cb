// SPDX-License-Identifier: Apache-2.0
#include "timer_service.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <troupe/memory/pool.hpp>

#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe {

bool timer::cancel() noexcept { return entry_ != nullptr && of_->cancel(*entry_, generation_); }

}  // namespace troupe

namespace troupe::detail {

struct timer_access {
  static timer make(timer_service& of, timer_entry& entry) noexcept {
    return {of, entry, entry.generation};
  }
};

timer arm(control_block& to, envelope& message, duration delay, duration period,
          clone_function clone) {
  control_block* const target = to.routed(message);
  if (target == nullptr) {
    to.dead_letter(message, to.trace_of_sender());
    message.how->discard(message);
    return {};
  }
  return target->home().timers().arm(*target, message, delay, period, clone);
}

namespace {

// The type of the actor in whose turns timers fire. It has no object.
constexpr actor_type firing_type{.name = "timers",
                                 .identity = {},
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
  // The previous system may have used another clock.
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
    const bool is_none = armed() == 0;
    const std::lock_guard lock(mutex_);
    TROUPE_ASSERT(is_none && returning_ == nullptr, "timer_service: stopped with timers armed");
    stopping_ = true;
  }
  parker_.notify();
  while (trim_entries(0)) {
  }
  if (conductor* const by = home_.conducted_by()) {
    while (firing_since_ != never) thread_host::here()->sleep_until(never);
    return by->closed(*this);
  }
  thread_.join();
  // [surplus] relaxed: joined, and later reports go to another service.
  const bool owes = trim_at_ != time_point::max() || surplus_.load(relaxed);
  pool_unlisten(*this, owes);
  surplus_.store(false, relaxed);  // [surplus] no thread reports any more
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
    until = std::min(until, trim(now));
    if (until != time_point::max()) {
      (void)parker_.park_until(until);
    } else {
      parker_.park();
    }
    lock.lock();
    sleeps_until_ = time_point::min();  // awake: arming need not notify
  }
}

// In a simulation: does the thread's work if it was notified or it is time.
time_point timer_service::look() noexcept {
  const bool is_notified = parker_.park_until(time_point::min());
  if (!is_notified && clock::now() < looks_at_) return looks_at_;
  const bool must_not_wait = std::exchange(this_turn().must_not_wait, true);
  std::unique_lock lock(mutex_);
  sleeps_until_ = time_point::min();
  const time_point now = clock::now();
  looks_at_ = see_to_due(lock, now);
  lock.unlock();
  looks_at_ = std::min(looks_at_, home_.cycles().look(now));
  this_turn().must_not_wait = must_not_wait;
  return looks_at_;
}

// ── Suspended actors whose handlers wait for a time-out ───────────────────────────────────────

// A suspended actor must not miss its time-outs. Runs without the mutex, because releasing an actor
// may terminate it.
void timer_service::let_overdue_go_on(std::unique_lock<adaptive_mutex>& lock) noexcept {
  if (overdue_.empty()) return;
  const std::vector<control_block*> those = std::exchange(overdue_, {});
  lock.unlock();
  for (control_block* each : those) {
    pauses::release(*each, true);
    each->let_go();
  }
  lock.lock();
}

// ── Surplus memory ────────────────────────────────────────────────────────────────────────────

// Called on any thread, which may hold any lock: so it only sets a flag.
void timer_service::on_surplus() noexcept {
  // [surplus] relaxed: the parker publishes it.
  surplus_.store(true, relaxed);
  parker_.notify();
}

// Returns when there is more to do. It does a little at a time, so that no timer is delayed by it.
time_point timer_service::trim(time_point now) noexcept {
  constexpr std::size_t steps = 16;  // about 100 microseconds
  if (trim_at_ <= now) {
    const bool more = trim_entries(1);
    switch (more ? pool_rest::now : pool_trim(steps)) {
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
  // Only if no round is due: a report during a round may no longer be covered by it.
  // [surplus] relaxed: as above.
  if (trim_at_ == time_point::max() && surplus_.load(relaxed)) {
    surplus_.store(false, relaxed);  // [surplus] a report that comes now says the same
    trim_at_ = now + pool_between_rounds;
  }
  return trim_at_;
}

// Gives back one chunk of entries. False: there is no further one to give back.
bool timer_service::trim_entries(std::size_t stay) noexcept {
  std::unique_lock lock(mutex_);
  entry_store::chunk* const one = entries_.take_surplus(stay);
  if (one == nullptr) return false;
  lock.unlock();
  entry_store::discard(*one);
  lock.lock();
  entries_.put_vacant(*one);
  return true;
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
  home_.check_threads("no timer can fire");
  const std::uint64_t trace = home_.traces ? this_turn().trace : 0;
  struct free_unless_armed {
    timer_details* details = nullptr;
    ~free_unless_armed() {
      if (details != nullptr) pool_release(details, sizeof(timer_details), alignof(timer_details));
    }
  } more;
  if (clone != nullptr || trace != 0) {
    more.details =
        ::new (pool_allocate(sizeof(timer_details), alignof(timer_details))) timer_details{};
  }
  side_block& side = to.side();
  std::unique_lock lock(mutex_);
  if (to.line().now_in_order().ended()) {
    lock.unlock();
    to.dead_letter(message, trace);
    return {};
  }
  timer_entry& entry = take_free();
  const timer handle = timer_access::make(*this, entry);
  to.hold();
  entry.target = &to;
  entry.high = message.how->high;
  // The clock is read again, so that no timer fires early.
  const time_point deadline = later(clock::now(), delay);
  entry.has_details = more.details != nullptr;
  if (entry.has_details) {
    // The wheel does not support periods shorter than its tick.
    *more.details = {.tick = {nullptr, entry.high ? &high_details_dispatch : &details_dispatch},
                     .entry = &entry,
                     .message = nullptr,
                     .clone = clone,
                     .period = std::max<duration>(period, timer_wheel::tick),
                     .deadline = deadline,
                     .trace = trace};
    entry.what.details = std::exchange(more.details, nullptr);
  }
  entry.message() = std::exchange(guard.message, nullptr);
  // [tick] relaxed: the mutex and the mailbox publish it.
  entry.claimed.store(false, relaxed);
  entry.live = true;
  entry.was_late = false;
  entry.queued = entry.cloning = entry.alarm = false;
  entry.own = this_turn().running == &to;
  insert_first(side, entry);
  ++armed_;
  wheel_.insert(entry.node(), deadline);
  const bool sooner = deadline < sleeps_until_;
  lock.unlock();
  if (sooner) parker_.notify();
  return handle;
}

bool timer_service::cancel(timer_entry& entry, std::uint64_t generation) noexcept {
  if (home_.is_forked()) return false;  // it never fires here
  remains left;
  {
    const std::lock_guard lock(mutex_);
    if (entry.generation != generation || !entry.live) return false;
    if (!entry.is_node() && !entry.claim()) return false;  // it is being handled, or has been
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
      // Its ticks are handled in its turns, of which this is the last one: unhandled ticks are
      // claimed here.
      timer_entry& first = *side.timers;
      if (is_handled(first)) {
        unlink(first);
        continue;
      }
      if (!first.is_node() && !first.alarm) (void)first.claim();
      retire(first, left);
    }
    left.dispose();
  }
}

// All in one pass, so that timers armed by others are skipped only once.
void timer_service::cancel_own(control_block& of) noexcept {
  envelope* messages = nullptr;
  std::size_t references = 0;
  {
    const std::lock_guard lock(mutex_);
    for (timer_entry* one = of.side_if_any()->timers; one != nullptr;) {
      timer_entry& each = *std::exchange(one, one->next_of_actor);
      if (!each.own || each.alarm) continue;
      if (!each.is_node() && !each.claim()) continue;  // handled
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

// Call under the mutex.
void timer_service::insert_first(side_block& of, timer_entry& entry) noexcept {
  entry.previous_of_actor = nullptr;
  entry.next_of_actor = std::exchange(of.timers, &entry);
  if (entry.next_of_actor != nullptr) entry.next_of_actor->previous_of_actor = &entry;
}

// Call under the mutex. The entry is no longer live; it leaves the wheel and its actor's list. The
// message and the reference that it held are returned in `left`.
void timer_service::retire(timer_entry& entry, remains& left) noexcept {
  if (entry.is_node()) wheel_.remove(entry.node());
  unlink(entry);
  if (!entry.is_node()) {
    left.message = entry.what.message;  // it is not changed: the actor may be reading it
  } else if (!entry.cloning) {
    left.message = std::exchange(entry.message(), nullptr);
  }
  if (entry.alarm) {
    entry.target->side_if_any()->alarm = nullptr;
  } else {
    left.target = entry.target;
  }
  free_if_done(entry);
}

// Call under the mutex. The entry is no longer live.
void timer_service::unlink(timer_entry& entry) noexcept {
  entry.live = false;
  if (!entry.alarm) --armed_;
  (entry.previous_of_actor != nullptr ? entry.previous_of_actor->next_of_actor
                                      : entry.target->side_if_any()->timers) = entry.next_of_actor;
  if (entry.next_of_actor != nullptr)
    entry.next_of_actor->previous_of_actor = entry.previous_of_actor;
}

// Call under the mutex. True if the actor has claimed the tick, so that it can no longer be
// cancelled.
bool timer_service::is_handled(timer_entry& entry) noexcept {
  // [tick] relaxed: false may be outdated; in a turn of the entry's own actor it is exact.
  return !entry.is_node() && !entry.alarm && entry.claimed.load(relaxed);
}

// Call under the mutex: takes back the entries of handled ticks. False: there may be more.
bool timer_service::take_back(std::size_t most) noexcept {
  if (returning_ == nullptr) returning_ = handled_.take_all();
  for (; returning_ != nullptr && most != 0; --most) {
    timer_entry& entry = timer_entry::of(*std::exchange(returning_, returning_->next));
    if (returning_ != nullptr) {
      const timer_entry& soon = timer_entry::of(*returning_);
      if (soon.next_of_actor != nullptr) __builtin_prefetch(soon.next_of_actor, 1);
      if (soon.previous_of_actor != nullptr) __builtin_prefetch(soon.previous_of_actor, 1);
    }
    if (entry.live) unlink(entry);
    entry.end_tick();
    free_if_done(entry);
  }
  return returning_ == nullptr;
}

void timer_service::free_if_done(timer_entry& entry) noexcept {
  if (entry.live || entry.queued) return;
  if (entry.has_details) {
    pool_release(entry.what.details, sizeof(timer_details), alignof(timer_details));
    entry.has_details = false;
  }
  entry.what.message = nullptr;
  entry.target = nullptr;
  ++entry.generation;
  entries_.give_back(entry);
  // [surplus] relaxed: skips a second report. In a simulation no thread would see the report.
  if (entries_.has_surplus() && !surplus_.load(relaxed) && home_.conducted_by() == nullptr) {
    on_surplus();
  }
}

timer_entry& timer_service::take_free() {
  if (!entries_.has_used_before()) take_back(most_at_once);
  return entries_.take();
}

void timer_service::remains::dispose() noexcept {
  if (message != nullptr) message->how->discard(*message);
  if (target != nullptr) target->let_go();
}

bool timer_service::has_timers(const control_block& of) noexcept {
  side_block* const its = of.side_if_any();
  const std::lock_guard lock(mutex_);
  if (its == nullptr) return false;
  while (its->timers != nullptr && is_handled(*its->timers)) unlink(*its->timers);
  return its->timers != nullptr;
}

std::uint64_t timer_service::armed() noexcept {
  std::unique_lock lock(mutex_);
  // First the rest of the previous list, and then the ticks that have been handled by now.
  for (int list = 0; list < 2; ++list) {
    while (!take_back(most_taken_back)) {
      lock.unlock();
      lock.lock();
    }
  }
  return armed_;
}

std::uint64_t timer_service::skipped() const noexcept {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

}  // namespace troupe::detail
