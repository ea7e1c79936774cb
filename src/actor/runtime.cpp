// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <troupe/actor/incarnations.hpp>
#include <troupe/sync/per_process.hpp>

#include "serial_group.hpp"

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

// The system's own is the first one.
std::vector<dispatcher_options> pools_of(system_options& options) {
  std::vector<dispatcher_options> all{{.name = "pool",
                                       .workers = options.workers,
                                       .cpus = std::move(options.cpus),
                                       .niceness = options.niceness,
                                       .stuck_after = options.stuck_after,
                                       .max_threads = options.max_threads,
                                       .turn_messages = options.turn_messages,
                                       .search_rounds = options.search_rounds}};
  std::move(options.dispatchers.begin(), options.dispatchers.end(), std::back_inserter(all));
  return all;
}

spare_runtimes& spares() { return per_process<spare_runtimes>::here(); }

}  // namespace

// ── Opening and closing ───────────────────────────────────────────────────────────────────────

runtime& runtime::open(troupe::system& owner, system_options options) {
  conductor* const by = conductor::here();
  if (by != nullptr) options.observer = by->observed_by(std::move(options.observer));
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
  home->conductor_ = by;
  try {
    home->start(std::move(options));
  } catch (...) {
    home->dispatchers_.close();
    home->conducted_.reset();
    home->recorder_.reset();
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
  recorder_ = timeline_recorder::make(options.timeline);
  {
    const std::lock_guard lock(mutex_);
    hooks_ = std::make_shared<const hooks>(
        hooks{options.on_failure ? std::move(options.on_failure) : print_failure,
              std::move(options.on_dead_letter), std::move(options.on_overload),
              std::move(options.on_pool), std::move(options.observer)});
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
  cycles_.start(options.cycle_search);
  budget_.start();
  pauses_.start(options.pause_max);
  stopping_.store(false, relaxed);
  if (conductor_ != nullptr) {
    conducted_ = std::make_unique<conducted_executor>(*conductor_, settles_at_);
    dispatchers_.simulate(pools_of(options));
  } else {
    dispatchers_.open(pools_of(options), settles_at_);
  }
  timers_.start();
}

void runtime::close() {
  timers_.stop();
  dispatchers_.stop();  // until then somebody may be told of them, and ask
  timers_.end();
  dispatchers_.close();
  conducted_.reset();
  spawned_.clear();
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
  recorder_.reset();  // all that had lanes are gone
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

executor& runtime::executor_of(std::string_view dispatcher) const {
  if (conducted_ == nullptr) return pool(dispatcher);
  if (!dispatcher.empty()) dispatchers_.check(dispatcher);
  return *conducted_;
}

// Where it runs if it has no other place.
executor& runtime::pool_for(const spawn_options& options) const {
  const bool is_placed = options.where.where() != placement::kind::pool;
  if (options.group && !options.dispatcher.empty()) {
    throw std::invalid_argument("troupe: spawn_options has the dispatcher \"" + options.dispatcher +
                                "\" and a group: give the dispatcher to the group");
  }
  if (is_placed && (options.group || !options.dispatcher.empty())) {
    throw std::invalid_argument(
        "troupe: spawn_options has " +
        (options.group ? "a group" : "the dispatcher \"" + options.dispatcher + "\"") +
        " and another `where` than pool: choose one of them");
  }
  if (options.group) return serial_group_access::executor_in(*this, *options.group);
  return executor_of(options.dispatcher);
}

control_block& runtime::make_actor(const actor_type& type, const spawn_options* options,
                                   std::unique_ptr<incarnations> again) {
  std::unique_ptr<thread_executor> own;
  executor* runs_on = options != nullptr ? &pool_for(*options) : &executor_of({});
  bound_executor* bound = nullptr;
  const placement where = options != nullptr ? options->where : troupe::pool;
  switch (where.where()) {
    case placement::kind::pool:
      break;
    case placement::kind::own_thread:
      if (conducted_ != nullptr) break;
      reap_threads();
      own = std::make_unique<thread_executor>(control_block::turn, settles_at_, draws());
      runs_on = own.get();
      break;
    case placement::kind::pump:
      TROUPE_EXPECTS(where.on() != nullptr, "bound_to() was given no pump");
      runs_on = bound = &bound_executor::of(*where.on());
      TROUPE_EXPECTS(&bound->home() == this, "the pump belongs to another system");
      break;
  }
  control_block& block = control_block::make(type, *this, *runs_on, options, std::move(again));
  if (options != nullptr && options->group) static_cast<serial_executor*>(runs_on)->hold();
  const turn_context& here = this_turn();
  const bool in_turn = here.counts != nullptr && &here.running->home() == this;
  lives& counted = in_turn ? here.counts->actors : foreign().actors;
  counted.spawned.fetch_add(1, seq_cst);  // [alive] [stopping] seq_cst: see shutdown()
  if (conducted_ != nullptr) remember(block.where());
  if (bound != nullptr) bound->actor_bound();
  if (type.references != nullptr && cycles_.spawned()) [[unlikely]]
    timers_.wake();
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

// In a simulation.
void runtime::remember(const address& spawned) {
  if (spawned_.size() == spawned_.capacity()) {
    std::erase_if(spawned_, [](const address& each) {
      control_block* const block = control_block::hold_to_the_end(each);
      if (block != nullptr) block->let_go();
      return block == nullptr;
    });
    spawned_.reserve(2 * spawned_.size() + 16);
  }
  spawned_.push_back(spawned);
}

control_block& runtime::make_hidden(const actor_type& type) {
  control_block& block = control_block::make(type, *this, executor_of({}), nullptr, nullptr);
  block.started();
  return block;
}

void runtime::end_hidden(control_block& block) noexcept {
  // It is idle; or somebody who brings an answer by an old address has found it so, and is about to see that
  // it is not meant.
  while (!block.try_freeze()) std::this_thread::yield();
  // [alive] relaxed: its end is counted next, by this thread, and who sees that sees this.
  foreign().actors.spawned.fetch_add(1, relaxed);
  block.abandon();
  block.let_go();
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
    if (pump.is_pumped_by(this_thread_id()) && each->is_pumped_by(this_thread_id())) {
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
    if (each->is_pumped_by(this_thread_id())) return each;
  }
  return nullptr;
}

bool runtime::is_pump(const executor& one) const noexcept {
  const std::lock_guard lock(mutex_);
  return std::any_of(pumps_.begin(), pumps_.end(),
                     [&](const bound_executor* each) { return each == &one; });
}

}  // namespace troupe::detail
