// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <troupe/memory/stable_pool.hpp>
#include <troupe/sync/per_process.hpp>
#include <troupe/sync/per_thread.hpp>

#include "side_block.hpp"

namespace troupe::detail {

namespace {

// Those that no system uses at the moment.
struct spare_runtimes {
  mutex guard;
  std::vector<runtime*> all;
  std::size_t made = 0;  // all has room for that many

  ~spare_runtimes() {
    for (runtime* each : all) delete each;
  }
};

// What a thread may have sent or handled without telling the budget of its system.
constexpr std::size_t settles_at_most = 64 * 1024;

spare_runtimes& spares() { return per_process<spare_runtimes>::here(); }

void print_failure(const failure& f) {
  const std::string who = to_string(f.who);
  const std::string trace = f.trace != 0 ? ", trace " + std::to_string(f.trace) : std::string();
  std::fprintf(stderr, "troupe: actor %.*s (%s%s) failed in %.*s: %.*s\n",
               static_cast<int>(f.actor.size()), f.actor.data(), who.c_str(), trace.c_str(),
               static_cast<int>(f.message.size()), f.message.data(),
               static_cast<int>(f.what.size()), f.what.data());
}

}  // namespace

// ── Opening and closing ───────────────────────────────────────────────────────────────────────

runtime& runtime::open(troupe::system& owner, system_options options) {
  const system_bounds bounds{options.max_messages, options.max_bytes, options.memory_budget,
                             options.observer != nullptr || options.traces, options.traces};
  runtime* home = nullptr;
  {
    spare_runtimes& spare = spares();
    const std::lock_guard lock(spare.guard);
    const auto same = std::find_if(spare.all.begin(), spare.all.end(),
                                   [&](const runtime* each) { return each->bounds_ == bounds; });
    if (same == spare.all.end()) {
      spare.all.reserve(++spare.made);
      home = new runtime(bounds);
    } else {
      home = *same;
      spare.all.erase(same);
    }
  }
  home->owner_ = &owner;
  try {
    home->start(std::move(options));
  } catch (...) {
    home->pool_.reset();
    {
      std::shared_ptr<const hooks> told;  // ended without the lock
      const std::lock_guard lock(home->mutex_);
      told.swap(home->hooks_);
    }
    home->give_back();
    throw;
  }
  return *home;
}

// What a send reads of it stays as it is for ever: a reference that has outlived the last system may
// be used while the next one begins.
runtime::runtime(const system_bounds& bounds)
    : bounds_(bounds), budget_(bounds.budget, over_budget) {
  rules = make_rules(bounds.messages, bounds.bytes, overload::policy::pause_senders);
  looked_at = bounds.looked_at;
  traces = bounds.traces;
  rules.plain = !looked_at;
  has_budget = bounds.budget != no_limit;
  if (has_budget) {
    settles_at_ = static_cast<std::int64_t>(
        std::min(settles_at_most, std::max<std::size_t>(bounds.budget / 64, 1)));
  }
}

void runtime::start(system_options options) {
  {
    const std::lock_guard lock(mutex_);
    hooks_ = std::make_shared<const hooks>(
        hooks{options.on_failure ? std::move(options.on_failure) : print_failure,
              std::move(options.on_dead_letter), std::move(options.on_overload),
              std::move(options.observer)});
    observer_ = hooks_->observer.get();
    past_ = {};
    past_actors_ = {};
  }
  // [epoch] relaxed: a reference of the system before must not count here; it is enough that it
  // sees the number change some time.
  epoch_.store(static_cast<std::uint16_t>(epoch() + 1), relaxed);
  // [counter] relaxed, all of these: figures for people.
  dead_letters_.store(0, relaxed);
  failures_.store(0, relaxed);
  answers_late_.store(0, relaxed);
  restarts_.store(0, relaxed);
  for (foreign_counts& each : foreign_) {
    each.accepted.store(0, relaxed);
    each.handled.store(0, relaxed);
    each.bytes.store(0, relaxed);
    each.actors.spawned.store(0, relaxed);
    each.actors.ended.store(0, relaxed);
  }
  overloads_.clear();
  circles_.clear();
  budget_.start();
  pauses_.start(options.pause_max);
  stopping_.store(false, relaxed);
  const unsigned workers =
      options.workers != 0 ? options.workers : std::max(1u, std::thread::hardware_concurrency());
  pool_ = std::make_unique<worker_pool>(workers, control_block::turn, settles_at_);
  timers_.start();
}

void runtime::close() {
  timers_.stop();
  pool_.reset();
  {
    // Ended without the lock: threads may still be on their way out of actor_ended(), and the hooks
    // are the user's.
    std::list<std::unique_ptr<thread_executor>> threads;
    std::shared_ptr<const hooks> told;
    const std::lock_guard lock(mutex_);
    TROUPE_EXPECTS(pumps_.empty(), "a troupe::pump outlives its system: destroy the pump first");
    threads.swap(threads_);
    told.swap(hooks_);
  }
  // Nobody is left who could ask for one; what they destroy may be the user's.
  while (!extensions_.empty()) extensions_.pop_back();
  give_back();
}

void runtime::give_back() noexcept {
  spare_runtimes& spare = spares();
  const std::lock_guard lock(spare.guard);
  spare.all.push_back(this);  // there is room: open() saw to it
}

// Made without the lock: of two that are made at once the first one stays.
system_extension& runtime::extension(make_extension make) {
  std::unique_ptr<system_extension> fresh;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [made_by, one] : extensions_) {
        if (made_by == make) return *one;
      }
      if (fresh != nullptr) {
        return *extensions_.emplace_back(make, std::move(fresh)).second;
      }
    }
    fresh = make(*owner_);
  }
}

system_extension& extension_of(troupe::system& of, make_extension make) {
  return system_access::of(of).extension(make);
}

// ── Spawning ──────────────────────────────────────────────────────────────────────────────────

control_block& runtime::make_actor(const actor_type& type, const spawn_options* options,
                                   std::unique_ptr<incarnations> again) {
  std::unique_ptr<thread_executor> own;
  executor* runs_on = pool_.get();
  bound_executor* bound = nullptr;
  const placement where = options != nullptr ? options->where : troupe::pool;
  switch (where.where()) {
    case placement::kind::pool:
      break;
    case placement::kind::own_thread:
      reap_threads();
      own = std::make_unique<thread_executor>(control_block::turn, settles_at_);
      runs_on = own.get();
      break;
    case placement::kind::pump:
      TROUPE_EXPECTS(where.on() != nullptr, "bound_to() was given no pump");
      runs_on = bound = &bound_executor::of(*where.on());
      TROUPE_EXPECTS(&bound->home() == this, "the pump belongs to another system");
      break;
  }
  control_block& block = control_block::make(type, *this, *runs_on, options, std::move(again));
  const turn_context& here = this_turn();
  const bool in_turn = here.counts != nullptr && &here.running->home() == this;
  lives& counted = in_turn ? here.counts->actors : foreign().actors;
  counted.spawned.fetch_add(1, seq_cst);  // [alive] [stopping] seq_cst: see shutdown()
  if (bound != nullptr) bound->actor_bound();
  if (own != nullptr) {
    try {
      own->start(block, std::string(block.name()));
      const std::lock_guard lock(mutex_);
      threads_.push_back(std::move(own));
    } catch (...) {
      block.abandon();
      block.let_go();
      throw;
    }
  }
  return block;
}

void runtime::actor_ended(activity* mine) noexcept {
  lives& counted = mine != nullptr ? mine->actors : foreign().actors;
  // [alive] seq_cst: who waits says so in shutting_down_ and then counts; this thread counts the end
  // and then looks there. With anything weaker both could miss the other.
  counted.ended.fetch_add(1, seq_cst);
  if (shutting_down_.load(seq_cst) == 0) return;
  const std::lock_guard lock(mutex_);
  if (awaited_ != 0) await(awaited_ - 1);
}

// Under mutex_: whoever waits for the end of all is to be woken when so many more have ended, and at
// 0 now: he counts again. An end that was counted may be taken off all the same, so that this is too
// early, but never too late: who has not been counted comes to the lock afterwards.
void runtime::await(std::uint64_t more) noexcept {
  awaited_ = more;
  if (more != 0) return;
  woken_.fetch_add(1, relaxed);  // [woken] relaxed: under the lock
  futex_wake(woken_, std::numeric_limits<std::int32_t>::max());
  for (bound_executor* each : pumps_) each->wake();
}

// Calls fn(const activity&) for all who give turns.
template <class Function>
void runtime::for_each_activity(Function&& fn) const {
  pool_->for_each_activity([&](const activity& done) { fn(done); });
  for (const auto& each : threads_) fn(each->done());
  for (bound_executor* each : pumps_) fn(each->done());
}

// First all that have ended, then all that were spawned. What is seen as ended is then seen as spawned
// too, since it was counted so before. So if they are as many, they are the same: between the two, at
// least, there was nobody.
runtime::population runtime::count_actors() const {
  population all = past_actors_;
  // [alive] seq_cst, all of these: see actor_ended(), and [stopping] in shutdown(). acquire: what the
  // actors did comes before what is done when they are gone.
  for_each_activity([&](const activity& a) { all.ended += a.actors.ended.load(seq_cst); });
  for (const foreign_counts& f : foreign_) all.ended += f.actors.ended.load(seq_cst);
  for_each_activity([&](const activity& a) { all.spawned += a.actors.spawned.load(seq_cst); });
  for (const foreign_counts& f : foreign_) all.spawned += f.actors.spawned.load(seq_cst);
  return all;
}

// Its thread gives no more turns. Under mutex_, as is its going off the list.
void runtime::is_gone(const activity& done) noexcept {
  add_activity(past_, done);
  // [alive] relaxed: they change no more, and were handed over with the end.
  past_actors_.spawned += done.actors.spawned.load(relaxed);
  past_actors_.ended += done.actors.ended.load(relaxed);
}

void runtime::reap_threads() noexcept {
  std::list<std::unique_ptr<thread_executor>> finished;  // joined without the lock
  const std::lock_guard lock(mutex_);
  for (auto each = threads_.begin(); each != threads_.end();) {
    const auto it = each++;
    if (!(*it)->finished()) continue;
    is_gone((*it)->done());
    finished.splice(finished.end(), threads_, it);
  }
}

// ── Pumps ─────────────────────────────────────────────────────────────────────────────────────

void runtime::add(bound_executor& pump) {
  const std::lock_guard lock(mutex_);
  for (const bound_executor* each : pumps_) {
    if (each->thread() == pump.thread()) {
      throw std::logic_error("this thread has a troupe::pump of this system already: use that one");
    }
  }
  pumps_.push_back(&pump);
}

void runtime::remove(bound_executor& pump) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(pumps_, &pump);
  is_gone(pump.done());
}

bound_executor* runtime::pump_of_this_thread() const noexcept {
  const std::lock_guard lock(mutex_);
  for (bound_executor* each : pumps_) {
    if (each->thread() == this_thread_id()) return each;
  }
  return nullptr;
}

// ── Ending ────────────────────────────────────────────────────────────────────────────────────

// Calls fn(control_block&) for each actor of this system that has a slot, with a reference held; so
// also for those that have ended while somebody refers to them.
template <class Function>
void runtime::for_each_actor(Function&& fn) {
  stable_pool<lifeline>::for_each_slot([&](lifeline& line) {
    if (!line.try_hold_in_use()) return;
    control_block& block = control_block::of(line);
    struct let_go {
      control_block& held;
      ~let_go() { held.let_go(); }
    } guard{block};
    if (&block.home() == this) fn(block);
  });
}

void runtime::stop_bound_to(const bound_executor& pump) {
  for_each_actor([&](control_block& block) {
    if (&block.runs_on() != &pump) return;
    block.ends_for_good();
    block.stop_now();
  });
}

shutdown_report runtime::shutdown(duration deadline) {
  if (this_turn().running != nullptr) {
    throw std::logic_error("system::shutdown() inside a handler of " +
                           std::string(this_turn().running->name()) +
                           " would wait for itself: call it from a thread that is no actor");
  }
  const time_point began = clock::now();
  const time_point until = later(began, deadline);
  // [stopping] seq_cst: who spawns opens the slot, counts the actor, and then looks here; this thread
  // says that it stops, counts, and then looks at the slots. So a spawner that has not seen the one
  // is counted in the other, and its slot is found open.
  stopping_.store(true, seq_cst);
  const auto is_anybody_there = [this] {
    const std::lock_guard lock(mutex_);
    return count_actors().alive() != 0;
  };
  if (is_anybody_there()) {
    // Those that are supervised are stopped by their supervisors, in order.
    for_each_actor([](control_block& block) {
      if (!block.is_supervised()) block.stop();
    });
  }
  shutdown_report report;
  for (time_point limit = until; !wait_for_everybody(limit);) {
    report.stragglers = stragglers();
    if (!report.complete()) break;
    // One that is past its end but not yet off the count has a few instructions to go.
    limit = clock::now() + std::chrono::milliseconds(1);
  }
  report.waited = clock::now() - began;
  return report;
}

// False if the deadline came first.
bool runtime::wait_for_everybody(time_point deadline) {
  shutting_down_.fetch_add(1, seq_cst);  // [alive] seq_cst: see actor_ended()
  std::uint64_t left = 0;
  std::uint32_t woken = 0;
  const auto all_gone = [&] {
    const std::lock_guard lock(mutex_);
    woken = woken_.load(relaxed);  // [woken] relaxed: under the lock
    await(left = count_actors().alive());
    return left == 0;
  };
  if (bound_executor* const mine = pump_of_this_thread()) {
    (void)mine->run_until(all_gone, &deadline);
  } else {
    while (!all_gone() && !futex_wait_until(woken_, woken, deadline)) {
    }
  }
  shutting_down_.fetch_sub(1, seq_cst);  // [alive] [spare] the addition matters
  return left == 0;
}

std::vector<shutdown_report::straggler> runtime::stragglers() {
  std::vector<shutdown_report::straggler> those;
  for_each_actor([&](control_block& block) {
    if (block.in_life() == phase::ended) return;
    those.push_back({block.where(), std::string(block.name()), doing(block)});
  });
  return those;
}

std::vector<troupe::system::overloaded_actor> runtime::overloaded_actors() {
  std::vector<troupe::system::overloaded_actor> those;
  for_each_actor([&](control_block& block) {
    const side_block* const side = block.side_if_any();
    if (side == nullptr || block.in_life() == phase::ended) return;
    const overload_counts counts = side->overloads.now();
    if (counts != overload_counts{})
      those.push_back({block.where(), std::string(block.name()), counts});
  });
  return those;
}

std::string runtime::doing(const control_block& block) const {
  if (const dispatch* const what = block.handling()) {
    const std::string name(what->message);
    return "in " + (what->run == nullptr ? name : "on(" + name + ")");
  }
  const std::lock_guard lock(mutex_);
  for (const bound_executor* each : pumps_) {
    if (&block.runs_on() == each) return "waits for its pump, which nobody pumps";
  }
  return block.in_life() == phase::starting ? "has not started" : "waits for a turn";
}

// ── Telling and counting ──────────────────────────────────────────────────────────────────────

std::shared_ptr<const runtime::hooks> runtime::current_hooks() const noexcept {
  const std::lock_guard lock(mutex_);
  return hooks_;
}

void runtime::actor_failed(const failure& f) noexcept {
  failures_.fetch_add(1, relaxed);  // [counter]
  const auto those = current_hooks();
  try {
    if (those != nullptr) those->on_failure(f);
  } catch (...) {
    print_failure(f);  // the hook failed as well; somebody should hear of it
  }
  if (looked_at) observe([&](troupe::observer& to) { to.failed(f); });
}

void runtime::dead(const dead_letter& letter) noexcept {
  dead_letters_.fetch_add(1, relaxed);  // [counter]
  const auto those = current_hooks();
  try {
    if (those != nullptr && those->on_dead_letter) those->on_dead_letter(letter);
  } catch (...) {
    // It is counted; there is nobody else to tell.
  }
  if (looked_at) observe([&](troupe::observer& to) { to.dead(letter); });
}

runtime::foreign_counts& runtime::foreign() noexcept {
  struct thread_count {
    atomic<std::size_t> value{0};
  };
  atomic<std::size_t>& threads = per_process<thread_count>::here().value;
  std::size_t& mine = per_thread<std::size_t, foreign_counts>::here();
  if (mine == 0) mine = threads.fetch_add(1, relaxed) + 1;  // [counter]
  return foreign_[mine % foreign_.size()];
}

void runtime::overloaded(const overload_event& event) noexcept {
  overloads_.add(event.what);
  turn_context& here = this_turn();
  if (here.in_hook) return;  // what the hook itself sends to a full mailbox is counted and not told
  const bool must_not_wait = std::exchange(here.must_not_wait, true);
  here.in_hook = true;
  const auto those = current_hooks();
  try {
    if (those != nullptr && those->on_overload) those->on_overload(event);
  } catch (...) {
    // It is counted; there is nobody else to tell.
  }
  here.in_hook = false;
  here.must_not_wait = must_not_wait;
  if (looked_at) observe([&](troupe::observer& to) { to.overloaded(event); });
}

void runtime::count_foreign(std::int64_t accepted, std::int64_t handled,
                            std::int64_t bytes) noexcept {
  foreign_counts& here = foreign();
  // [counter] relaxed, all of these.
  if (accepted != 0) here.accepted.fetch_add(static_cast<std::uint64_t>(accepted), relaxed);
  if (handled != 0) here.handled.fetch_add(static_cast<std::uint64_t>(handled), relaxed);
  if (bytes == 0) return;
  here.bytes.fetch_add(static_cast<std::uint64_t>(bytes), relaxed);
  if (has_budget) budget_.add(bytes);
}

// The counts keep what they have told by where they will tell again.
void runtime::settle(activity& counts) noexcept {
  const auto now = static_cast<std::int64_t>(counts.bytes_waiting.value());
  budget_.add(now - (counts.bytes_high - settles_at_));
  counts.bytes_high = now + settles_at_;
  counts.bytes_low = now - settles_at_;
}

void runtime::add_activity(troupe::statistics& to, const activity& done) noexcept {
  to.turns += done.turns.value();
  to.messages_accepted += done.accepted.value();
  to.messages_handled += done.handled.value();
  to.message_bytes_waiting += done.bytes_waiting.value();
  to.mailbox_depth_highest = std::max(to.mailbox_depth_highest, done.depth_highest.value());
}

troupe::statistics runtime::statistics() const {
  const std::lock_guard lock(mutex_);
  troupe::statistics s = past_;
  for_each_activity([&](const activity& done) { add_activity(s, done); });
  for (const auto& each : threads_) s.own_threads += each->finished() ? 0 : 1;
  for (const foreign_counts& each : foreign_) {
    s.messages_accepted += each.accepted.load(relaxed);   // [counter]
    s.messages_handled += each.handled.load(relaxed);     // [counter]
    s.message_bytes_waiting += each.bytes.load(relaxed);  // [counter]
  }
  if (static_cast<std::int64_t>(s.message_bytes_waiting) < 0) s.message_bytes_waiting = 0;
  // The counts are read one after the other, so that a busy system may seem to have handled more.
  s.messages_waiting = s.messages_accepted - std::min(s.messages_accepted, s.messages_handled);
  const population actors = count_actors();
  s.actors_alive = actors.alive();
  s.actors_spawned = actors.spawned;
  s.dead_letters = dead_letters_.load(relaxed);  // [counter]
  s.failures = failures_.load(relaxed);          // [counter]
  s.restarts = restarts_.load(relaxed);          // [counter]
  s.answers_late = answers_late_.load(relaxed);  // [counter]
  const overload_counts limits = overloads_.now();
  s.messages_refused = limits.refused;
  s.messages_dropped = limits.dropped;
  s.messages_redirected = limits.redirected;
  s.pauses = limits.paused;
  s.pauses_timed_out = limits.pauses_timed_out;
  s.senders_paused = pauses_.waiting();
  s.handlers_waiting = pauses_.in_lines();
  s.timers_armed = timers_.armed();
  s.ticks_skipped = timers_.skipped();
  s.workers = pool_->size();
  s.workers_parked = pool_->parked();
  s.workers_limit = pool_->limit();
  s.workers_busy = s.workers - std::min(s.workers, s.workers_parked);
  return s;
}

}  // namespace troupe::detail
