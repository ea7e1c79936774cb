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

#include <troupe/detail/actor/incarnations.hpp>
#include <troupe/detail/memory/memory_size.hpp>
#include <troupe/detail/sync/at_fork.hpp>
#include <troupe/detail/sync/per_process.hpp>

#include "forked.hpp"
#include "pauses_walk.hpp"
#include "serial_group.hpp"

namespace troupe::detail {

namespace {

// The runtimes that no system uses at the moment; and those with threads, which a forked child
// lacks.
struct spare_runtimes {
  mutex guard;
  std::vector<runtime*> all;
  std::size_t made = 0;  // all and with_threads have room for that many
  std::vector<runtime*> with_threads;

  ~spare_runtimes() {
    for (runtime* each : all) delete each;
  }
};

// The most bytes that a thread may have sent or handled without reporting them to the budget of its
// system.
constexpr std::size_t settles_at_most = 64 * 1024;

// Smaller budgets are updated after each turn, larger ones only when a thread has accumulated
// enough.
constexpr std::size_t large_budget = std::size_t{64} << 20;

constexpr std::size_t budget_in_simulations = std::size_t{1} << 30;

// By default a quarter of the memory that the process may use; but a simulation must not depend on
// its host.
std::size_t budget_of(const system_options& options, bool simulated) {
  if (options.memory_budget != 0) return options.memory_budget;
  if (simulated) return budget_in_simulations;
  static const std::size_t quarter = memory_of_process() / 4;
  return quarter;
}

std::size_t overdraft_of(std::size_t budget) { return budget == no_limit ? no_limit : budget / 2; }

// The system's default pool is the first one.
std::vector<dispatcher_options> pools_of(system_options& options) {
  std::vector<dispatcher_options> all{{.name = "pool",
                                       .workers = options.workers,
                                       .cpus = std::move(options.cpus),
                                       .niceness = options.niceness,
                                       .blocking_threshold = options.blocking_threshold,
                                       .max_threads = options.max_threads,
                                       .turn_messages = options.turn_messages,
                                       .spin_rounds = options.spin_rounds}};
  std::move(options.dispatchers.begin(), options.dispatchers.end(), std::back_inserter(all));
  return all;
}

spare_runtimes& spares() { return per_process<spare_runtimes>::here(); }

// The child has none of the threads, and whatever they were doing stays unfinished.
void lose_threads() {
  spare_runtimes& spare = spares();
  for (runtime* each : spare.with_threads) each->is_in_forked_child();
  threads_are_lost = threads_are_lost || !spare.with_threads.empty();
  spare.guard.unlock();
}

void be_told_of_forks() {
  [[maybe_unused]] static const bool once =
      (at_fork([] { spares().guard.lock(); }, [] { spares().guard.unlock(); }, lose_threads), true);
}

}  // namespace

// ── Opening and closing ───────────────────────────────────────────────────────────────────────

runtime& runtime::open(troupe::system& owner, system_options options) {
  simulation_driver* const by = simulation_driver::here();
  if (by != nullptr) options.observer = by->observed_by(std::move(options.observer));
  const system_bounds bounds{options.max_messages, options.max_bytes,
                             budget_of(options, by != nullptr),
                             options.observer != nullptr || options.traces, options.traces};
  // Throws if they are invalid, before anything has been acquired.
  const sending_rules first =
      make_rules(bounds.messages, bounds.bytes, overflow::policy::backpressure);
  be_told_of_forks();
  if (threads_are_lost) throw_forked("no system can be created");
  runtime* home = spare_one(bounds, first);
  if (home == nullptr) {
    home = new runtime(bounds, first);
    spare_runtimes& spare = spares();
    try {
      const std::lock_guard lock(spare.guard);
      spare.all.reserve(spare.made + 1);
      spare.with_threads.reserve(++spare.made);
    } catch (...) {
      delete home;
      throw;
    }
  }
  if (by == nullptr) {
    spare_runtimes& spare = spares();
    const std::lock_guard lock(spare.guard);
    spare.with_threads.push_back(home);  // there is room
  }
  home->owner_ = &owner;
  home->driver_ = by;
  try {
    home->start(std::move(options));
  } catch (...) {
    home->dispatchers_.close();
    home->driven_.reset();
    home->recorder_.reset();
    home->forget_hooks();
    home->give_back();
    throw;
  }
  return *home;
}

// Null: none is available. The parts that a send reads must not change while there are references
// that have outlived its last system: they may be used while the next one begins. Without
// references, it may be used for a system with other limits.
runtime* runtime::spare_one(const system_bounds& bounds, const sending_rules& first) {
  spare_runtimes& spare = spares();
  std::vector<runtime*> others;
  {
    const std::lock_guard lock(spare.guard);
    const auto same = std::find_if(spare.all.begin(), spare.all.end(),
                                   [&](const runtime* each) { return each->bounds_ == bounds; });
    if (same != spare.all.end()) {
      runtime* const home = *same;
      spare.all.erase(same);
      return home;
    }
    others = spare.all;
    spare.all.clear();  // its room stays
  }
  const auto unreferenced = std::find_if(others.begin(), others.end(),
                                         [](runtime* each) { return !each->is_referenced(); });
  runtime* const home = unreferenced != others.end() ? *unreferenced : nullptr;
  if (home != nullptr) {
    others.erase(unreferenced);
    home->set(bounds, first);
  }
  const std::lock_guard lock(spare.guard);
  spare.all.insert(spare.all.end(), others.begin(), others.end());
  return home;
}

// For a runtime that no system uses: its references cannot increase.
bool runtime::is_referenced() const noexcept {
  bool found = false;
  actor_slots::for_each_slot(
      [&](slot_head& slot) { found = found || control_block::is_in(slot.life, *this); });
  return found;
}

runtime::runtime(const system_bounds& bounds, const sending_rules& first)
    : budget_(bounds.budget, over_budget) {
  set(bounds, first);
}

void runtime::set(const system_bounds& bounds, const sending_rules& first) noexcept {
  bounds_ = bounds;
  rules = first;
  looked_at = bounds.looked_at;
  traces = bounds.traces;
  rules.plain = !looked_at;
  settles_each_turn = bounds.budget < large_budget;
  settles_at_ = activity::never;
  if (bounds.budget != no_limit) {
    settles_at_ = static_cast<std::int64_t>(
        std::min(settles_at_most, std::max<std::size_t>(bounds.budget / 64, 1)));
  }
}

void runtime::start(system_options options) {
  recorder_ = timeline_recorder::make(options.timeline);
  const hooks& told =
      hooks_.emplace(options.on_failure ? std::move(options.on_failure) : print_failure,
                     std::move(options.on_dead_letter), std::move(options.on_overload),
                     std::move(options.on_pool), std::move(options.observer));
  hooks_there_.store(told.those_there(), relaxed);  // [hooks]
  observer_ = told.observer.get();
  {
    const std::lock_guard lock(mutex_);
    past_ = {};
    past_actors_ = {};
  }
  // [epoch] relaxed: a reference of the previous system must not count here; it is enough that it
  // sees the number change eventually.
  epoch_.store(static_cast<std::uint16_t>(epoch() + 1), relaxed);
  // [counter] relaxed, all of these: statistics only.
  failures_.store(0, relaxed);
  answers_late_.store(0, relaxed);
  restarts_.store(0, relaxed);
  for (foreign_counts& each : foreign_) {
    each.accepted.store(0, relaxed);
    each.handled.store(0, relaxed);
    each.bytes.store(0, relaxed);
    each.bytes_told.store(0, relaxed);
    each.actors.spawned.store(0, relaxed);
    each.actors.ended.store(0, relaxed);
    for (auto& event : each.events) event.store(0, relaxed);
  }
  exhausted_told_.store(0, relaxed);
  request_cycles_.clear();
  cycles_.start(options.cycle_search);
  budget_.start(bounds_.budget);
  overdraft_.start(overdraft_of(bounds_.budget));
  discarded_.store(0, relaxed);
  stopping_.store(false, relaxed);
  if (driver_ != nullptr) {
    driven_ = std::make_unique<driven_executor>(*driver_, settles_at_);
    dispatchers_.simulate(pools_of(options));
  } else {
    dispatchers_.open(pools_of(options), settles_at_);
  }
  timers_.start();
}

void runtime::close() {
  cycles_.stop();
  waits_of_all::here().parked.join();
  timers_.stop();
  dispatchers_.stop();  // until then a listener may be notified, and ask about them
  timers_.end();
  expect_settled();
  dispatchers_.close();
  driven_.reset();
  spawned_.clear();
  {
    // Destroyed without the lock: threads may still be returning from actor_ended().
    std::list<std::unique_ptr<thread_executor>> threads;
    const std::lock_guard lock(mutex_);
    TROUPE_EXPECTS(pumps_.empty(),
                   "a troupe::pump or its owner (net::loop, http::server) outlives its "
                   "troupe::system: destroy it before the system");
    threads.swap(threads_);
  }
  forget_hooks();
  recorder_.reset();  // everything that had lanes is gone
  // No user of an extension is left. Destroying an extension may run user code.
  while (!extensions_.empty()) extensions_.pop_back();
  give_back();
}

// No turn is given any more, and the threads that have given them still exist.
void runtime::expect_settled() const {
  if (unsettled_account == nullptr) return;
  const auto messages = [](const troupe::statistics& of) {
    return static_cast<std::int64_t>(of.messages_accepted - of.messages_handled);
  };
  const auto bytes = [](const troupe::statistics& of) {
    return static_cast<std::int64_t>(of.message_bytes_waiting);
  };
  const auto now = [this] {
    const std::lock_guard lock(mutex_);
    return message_counts();
  };
  troupe::statistics all = now();
  // A thread outside of the system counts a message after the push. The message may have been
  // handled by then, and the thread is about to count it.
  constexpr int looks_max = 1'000'000;
  for (int i = 0; i < looks_max && (messages(all) < 0 || bytes(all) < 0); ++i) {
    std::this_thread::yield();
    all = now();
  }
  const auto check = [](const char* account, std::uint64_t left) {
    detail::expect_settled(account, static_cast<std::int64_t>(left));
  };
  detail::expect_settled("messages in the mailboxes of a system", messages(all));
  detail::expect_settled("bytes in the mailboxes of a system", bytes(all));
  const std::lock_guard lock(mutex_);
  check("actors of a system", count_actors().alive());
  check("the overdraft of a system", overdraft_.used());
  check("suspended senders", pauses_.waiting());
  check("handlers waiting for mailbox space", pauses_.in_lines());
  check("timers", timers_.armed());
  check("pending requests", request_cycles_.size());
}

// A thread that is inside a hook continues with it.
void runtime::forget_hooks() noexcept {
  hooks_there_.store(0, relaxed);  // [hooks]
  hooks_.clear();
}

void runtime::give_back() noexcept {
  spare_runtimes& spare = spares();
  const std::lock_guard lock(spare.guard);
  std::erase(spare.with_threads, this);
  spare.all.push_back(this);  // there is room: open() reserved it
}

// Made without the lock: of two that are made concurrently the first one stays.
system_extension& runtime::extension(make_extension make) {
  check_threads("its names and topics cannot be used");
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

void runtime::is_in_forked_child() noexcept {
  is_forked_.store(true, relaxed);   // [forked] relaxed: there is one thread
  over_budget.store(true, relaxed);  // [budget] relaxed: so that the fast path of send() notices
}

void runtime::throw_forked(const char* what) {
  throw std::logic_error(
      "troupe: this process was forked while its parent had a troupe::system, whose threads do not "
      "exist here; " +
      std::string(what) + ". Call exec or _exit, or fork before the first system is created");
}

void check_not_forked(const char* what) {
  if (is_forked_child()) [[unlikely]]
    runtime::throw_forked(what);
}

// ── Spawning ──────────────────────────────────────────────────────────────────────────────────

executor& runtime::executor_of(std::string_view dispatcher) const {
  if (driven_ == nullptr) return pool(dispatcher);
  if (!dispatcher.empty()) dispatchers_.check(dispatcher);
  return *driven_;
}

// The executor if it has no other placement.
executor& runtime::pool_for(const spawn_options& options) const {
  const bool is_placed = options.where.where() != placement::kind::pool;
  if (options.group && !options.dispatcher.empty()) {
    throw std::invalid_argument("troupe: spawn_options has both the dispatcher \"" +
                                options.dispatcher +
                                "\" and a group: set the dispatcher of the group instead");
  }
  if (is_placed && (options.group || !options.dispatcher.empty())) {
    throw std::invalid_argument(
        "troupe: spawn_options has " +
        (options.group ? "a group" : "the dispatcher \"" + options.dispatcher + "\"") +
        " and a `where` other than pool: choose one of them");
  }
  if (options.group) return serial_group_access::executor_in(*this, *options.group);
  return executor_of(options.dispatcher);
}

control_block& runtime::make_actor(const actor_type& type, const spawn_options* options,
                                   std::unique_ptr<incarnations> again) {
  check_threads("no actor can be spawned");
  std::unique_ptr<thread_executor> own;
  executor* runs_on = options != nullptr ? &pool_for(*options) : &executor_of({});
  bound_executor* bound = nullptr;
  const placement where = options != nullptr ? options->where : troupe::pool;
  switch (where.where()) {
    case placement::kind::pool:
      break;
    case placement::kind::own_thread:
      if (driven_ != nullptr) break;
      reap_threads();
      own = std::make_unique<thread_executor>(control_block::turn, settles_at_, draws());
      runs_on = own.get();
      break;
    case placement::kind::pump:
      TROUPE_EXPECTS(where.on() != nullptr, "bound_to() was called without a pump");
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
  if (driven_ != nullptr) remember(block.where());
  if (bound != nullptr) bound->actor_bound();
  if (type.references != nullptr && cycles_.spawned()) [[unlikely]]
    cycles_.wake();
  if (own != nullptr) {
    try {
      own->start(block, std::string(block.name()));
      const std::lock_guard lock(mutex_);
      threads_.push_back(std::move(own));
    } catch (...) {
      block.abandon(exit_reason::failed);
      block.let_go();
      throw;
    }
  }
  return block;
}

// It counts as spawned and as ended, so no thread waits for it.
control_block& runtime::make_ended(const actor_type& type, const spawn_options* options) {
  control_block& block = control_block::make(type, *this, executor_of({}), options, nullptr);
  // [alive] relaxed: its end is counted next, by this thread; a thread that sees the end sees this
  // too.
  foreign().actors.spawned.fetch_add(1, relaxed);
  if (type.references != nullptr) (void)cycles_.spawned();
  block.abandon(exit_reason::stopped);
  return block;
}

// Only in a simulation.
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
  // It is idle; or a thread that delivers a reply to an old address has found it idle, and is about
  // to see that the address does not match.
  while (!block.try_freeze()) std::this_thread::yield();
  // [alive] relaxed: its end is counted next, by this thread; a thread that sees the end sees this
  // too.
  foreign().actors.spawned.fetch_add(1, relaxed);
  block.abandon(exit_reason::stopped);
  block.let_go();
}

void runtime::actor_ended(activity* mine) noexcept {
  lives& counted = mine != nullptr ? mine->actors : foreign().actors;
  // [alive] seq_cst: a waiting thread announces itself in shutting_down_ and then counts; this
  // thread counts the end and then checks shutting_down_. With a weaker order both could miss the
  // other.
  counted.ended.fetch_add(1, seq_cst);
  if (shutting_down_.load(seq_cst) == 0) return;
  const std::lock_guard lock(mutex_);
  if (awaited_ != 0) await(awaited_ - 1);
}

// Under mutex_: threads that wait for the end of all actors are to be woken when `more` further
// actors have terminated, or now if it is 0; then they count again. An end that was already counted
// may be subtracted again, so the wake-up may be too early, but never too late: an end that was not
// counted takes the lock afterwards.
void runtime::await(std::uint64_t more) noexcept {
  awaited_ = more;
  if (more != 0) return;
  woken_.fetch_add(1, relaxed);  // [woken] relaxed: under the lock
  futex_wake(woken_, std::numeric_limits<std::int32_t>::max());
  for (bound_executor* each : pumps_) each->wake();
}

// First reads all ended counts, then all spawned counts. An actor that is seen as ended is then
// also seen as spawned, since it was counted so before. So if the sums are equal, they count the
// same actors: between the two reads, at least, there was a moment without any actor.
runtime::population runtime::count_actors() const {
  population all = past_actors_;
  // [alive] seq_cst, all of these: see actor_ended(), and [stopping] in shutdown(). acquire: the
  // effects of the actors happen before anything done after they are gone.
  for_each_activity([&](const activity& a) { all.ended += a.actors.ended.load(seq_cst); });
  for (const foreign_counts& f : foreign_) all.ended += f.actors.ended.load(seq_cst);
  for_each_activity([&](const activity& a) { all.spawned += a.actors.spawned.load(seq_cst); });
  for (const foreign_counts& f : foreign_) all.spawned += f.actors.spawned.load(seq_cst);
  return all;
}

// Its thread gives no more turns. Call under mutex_, together with its removal from the list.
void runtime::is_gone(const activity& done) noexcept {
  add_activity(past_, done);
  // [alive] relaxed: they no longer change, and were published by the thread's end.
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
      throw std::logic_error("this thread already has a troupe::pump of this system: use that one");
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
