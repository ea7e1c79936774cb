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
    const bool is_none = armed() == 0;
    const std::lock_guard lock(mutex_);
    TROUPE_ASSERT(is_none && returning_ == nullptr, "timer_service: stopped with timers armed");
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
  // The clock is read afresh, so that nothing is early.
  const time_point deadline = later(clock::now(), delay);
  entry.has_details = more.details != nullptr;
  if (entry.has_details) {
    // The wheel knows no period shorter than its tick.
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
  // [tick] relaxed: the mutex and the mailbox hand it over.
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
      // Its ticks are handled in its turns, of which this is the last one: those that are not are claimed here.
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

// All at once, so that those of others are passed by only once.
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

// Under the mutex.
void timer_service::insert_first(side_block& of, timer_entry& entry) noexcept {
  entry.previous_of_actor = nullptr;
  entry.next_of_actor = std::exchange(of.timers, &entry);
  if (entry.next_of_actor != nullptr) entry.next_of_actor->previous_of_actor = &entry;
}

// Under the mutex. Not live any more; out of the wheel and of its actor's list. What was held is
// handed out in `left`.
void timer_service::retire(timer_entry& entry, remains& left) noexcept {
  if (entry.is_node()) wheel_.remove(entry.node());
  unlink(entry);
  if (!entry.is_node()) {
    left.message = entry.what.message;  // it stays as it is: the actor may be looking
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

// Under the mutex. Not live any more.
void timer_service::unlink(timer_entry& entry) noexcept {
  entry.live = false;
  if (!entry.alarm) --armed_;
  (entry.previous_of_actor != nullptr ? entry.previous_of_actor->next_of_actor
                                      : entry.target->side_if_any()->timers) = entry.next_of_actor;
  if (entry.next_of_actor != nullptr)
    entry.next_of_actor->previous_of_actor = entry.previous_of_actor;
}

// Under the mutex. Its actor has it, so that nobody cancels it any more.
bool timer_service::is_handled(timer_entry& entry) noexcept {
  // [tick] relaxed: where it says no it may be yes by now; who asks of his own actor knows.
  return !entry.is_node() && !entry.alarm && entry.claimed.load(relaxed);
}

// Under the mutex: the entries of ticks that have been handled. False: there may be more.
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
  entry.next_of_actor = std::exchange(free_, &entry);
}

timer_entry& timer_service::take_free() {
  if (free_ == nullptr) take_back(most_at_once);
  if (free_ == nullptr) return entries_.fresh();
  return *std::exchange(free_, free_->next_of_actor);
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
  // What is left of before, and then those that are handled by now.
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
