// SPDX-License-Identifier: Apache-2.0
#include <troupe/scheduler/worker_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>

#include <troupe/scheduler/schedule_batch.hpp>
#include <troupe/sync/asymmetric.hpp>

#include "pool_monitor.hpp"
#include "worker.hpp"
#include "worker_thread.hpp"

// Why no worker sleeps while there is work. Three steps interact here, and all of them are seq_cst.
// With anything weaker, each side could miss the other (store buffering), and the work would wait
// until the next piece of work arrives:
//
//   bringing work   publish it (a ring's tail, injected_count_)    [idle] W
//                   then look at census_                           [idle] C
//   parking         leave the searchers, join the parked: census_  [idle] C
//                   then look at every ring and injected_count_    [idle] W
//   finding work    leave the searchers: census_                   [idle] C
//                   then look at every ring and injected_count_    [idle] W
//
// A thread that brings work and sees a searcher wakes no worker: that searcher still has one of the
// last two steps before it, and will see the work. If several searchers find work, only the last
// one checks again, because a thread that brought work meanwhile relied on any one of them. A
// thread that sees no searcher but a parked worker wakes one.
//
// A worker that keeps out (README.md) parks as well, after it has searched like the others. It
// checks whether any worker runs, not whether there is work. While another worker runs, that worker
// must park before it sleeps, and then sees the work. The last worker that runs or searches finds
// no other one in the census, and checks for work. The same holds for a thread that brings work and
// sees a watcher and at least as many running workers as the limit allows: it wakes no worker. If
// fewer run, the watcher comes back at its next look.
//
// Orders marked [spare] could be weaker: joining the searchers, for example, needs no order
// relative to the work. They stay seq_cst so that the argument above is complete. For a
// read-modify-write this costs nothing on any processor that we know of.

namespace troupe::detail {

worker_pool::worker_pool(const pool_options& options, turn_function turn)
    : max_threads_(std::max(options.workers, std::min(options.max_threads, tuning::most_threads))),
      turn_messages_(options.turn_messages),
      search_rounds_(options.spin_rounds),
      settles_at_(options.settles_at),
      listener_(options.listener),
      name_(options.name),
      traits_(options.threads),
      timeline_(options.draws),
      limit_(options.workers),
      monitor_(std::make_unique<pool_monitor>(*this)) {
  workers_.reserve(options.workers);
  parked_workers_.reserve(options.workers);
  threads_.resize(max_threads_);
  resting_.reserve(max_threads_);
  retired_.reserve(max_threads_);
  for (unsigned i = 0; i < options.workers; ++i) {
    workers_.push_back(std::make_unique<worker>(*this, turn, i));
    threads_[i] = std::make_unique<worker_thread>(*this, i + 1, settles_at_, timeline_);
    workers_[i]->is_run_by(*threads_[i]);
  }
  thread_count_.store(options.workers, relaxed);  // [threads] relaxed: the threads start later
  prepare_heavy_barrier();
  try {
    for (unsigned i = 0; i < options.workers; ++i) {
      threads_[i]->start();
      threads_[i]->give(*workers_[i]);
    }
    monitor_->start(options.blocking_threshold);
  } catch (...) {
    stop();
    throw;
  }
}

worker_pool::~worker_pool() {
// Clang has another name for the same warning. The class has no base with data, and GCC and Clang
// define offsetof for it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  // A wake by a worker's own turn reads asleep_, and each turn stopping_. Nothing that changes while
  // the pool runs may lie on that line; see src/scheduler/README.md.
  constexpr auto line = [](std::size_t offset) { return offset / cache_line_bytes; };
  constexpr std::size_t read_mostly = line(offsetof(worker_pool, asleep_));
  static_assert(offsetof(worker_pool, asleep_) % cache_line_bytes == 0);
  static_assert(line(offsetof(worker_pool, stopping_)) == read_mostly);
  static_assert(line(offsetof(worker_pool, workers_) + sizeof workers_ - 1) < read_mostly);
  static_assert(line(offsetof(worker_pool, census_)) > read_mostly);
  static_assert(line(offsetof(worker_pool, watched_)) > read_mostly);
  // These are written by different threads: each has a line of its own.
  static_assert(line(offsetof(worker_pool, limit_)) > line(offsetof(worker_pool, watched_)));
  static_assert(line(offsetof(worker_pool, injected_count_)) >
                line(offsetof(worker_pool, limit_) + sizeof limit_ - 1));
  static_assert(line(offsetof(worker_pool, injected_mutex_)) >
                line(offsetof(worker_pool, injected_is_short_)));
  static_assert(line(offsetof(worker_pool, threads_mutex_)) >
                line(offsetof(worker_pool, injected_) + sizeof injected_ - 1));
  static_assert(line(offsetof(worker_pool, parked_mutex_)) >
                line(offsetof(worker_pool, refused_) + sizeof refused_ - 1));
#pragma GCC diagnostic pop
  stop();
}

void worker_pool::stop() noexcept {
  // [stop] release: the workers' acquire in find_work() and work_in_sight().
  // [idle] W, seq_cst: stopping counts as work for each worker: a worker that parks afterwards must
  // see it.
  // [spare] The mutex orders it as well.
  stopping_.store(true, seq_cst);
  monitor_->stop();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const std::lock_guard lock(parked_mutex_);
    if (parked_workers_.empty()) continue;
    wake_parked();
  }
  {
    const std::lock_guard lock(threads_mutex_);
    for (worker_thread* const each : resting_) each->wake();
  }
  // No thread is added any more: a thread that would add one sees stopping_ under the mutex.
  for_each_thread([](worker_thread& each) { each.join(); });
}

bool worker_pool::is_stopping() const noexcept {
  // [stop] [spare] A mutex or a parker already orders the caller after the store.
  return stopping_.load(acquire);
}

unsigned worker_pool::parked() const noexcept {
  // [census] relaxed: for display only.
  return census::parked(census_.load(relaxed));
}

bool worker_pool::are_all_parked() const noexcept {
  // [idle] C: used by the monitor before it sleeps.
  return census::parked(census_.load(seq_cst)) == size();
}

template <class Look>
void worker_pool::for_each_thread(Look&& look) const noexcept {
  // [unchecked] [threads] acquire: the threads up to the count are fully constructed. [alive]
  // seq_cst: a thread that checks whether a terminated actor was the last one sees the thread on
  // which that actor terminated.
  const std::size_t count = thread_count_.load(seq_cst);
  for (std::size_t i = 0; i < count; ++i) look(*threads_[i]);
}

void worker_pool::for_each_activity(const std::function<void(const activity&)>& look) const {
  for_each_thread([&](const worker_thread& each) { look(each.done()); });
}

bool worker_pool::is_current() const noexcept {
  const worker_thread* const here = worker_thread::here();
  return here != nullptr && &here->pool() == this;
}

template <class Push>
inline void worker_pool::schedule(runnable& r, Push&& push) noexcept {
  worker_thread* const here = worker_thread::here();
  if (here == nullptr) {
    if (schedule_batch* const batch = schedule_batch::here()) return batch->add(*this, r);
  }
  // A pool thread that is leaving the pool or runs a hook counts as a foreign thread.
  if (here == nullptr || &here->pool() != this || !here->is_in_turn()) return inject(r);
  if (here->with_worker(push)) [[likely]]
    return;
  inject(r);
}

void worker_pool::schedule(runnable& r) noexcept {
  schedule(r, [&r](worker& mine) { mine.push(r); });
}

void worker_pool::schedule_for_the_running(runnable& r) noexcept {
  const std::lock_guard lock(injected_mutex_);
  injected_.push(r);
  const bool is_alone = injected_count_.fetch_add(1, seq_cst) == 0;  // [idle] W
  if (is_alone) injected_is_short_.store(true, relaxed);             // [short]
  // Under the lock, as in inject(). A worker that runs now sees the work before it parks, if not
  // earlier.
  if (running() != 0) return wake_monitor_if_asleep();
  wake_one_if_needed();
}

void worker_pool::schedule_behind(runnable& r) noexcept {
  schedule(r, [&r](worker& mine) { mine.push_behind(r); });
}

void worker_pool::gives_turns_by(turn_function turn) noexcept {
  for (const auto& each : workers_) each->gives_turns_by(turn);
}

void worker_pool::wake_monitor() noexcept { monitor_->wake(); }

void worker_pool::wake_sleepers() noexcept {
  wake_monitor_if_asleep();
  // [lookout-dozes] relaxed: checked again under the lock.
  if ((asleep_.load(relaxed) & sleeper::lookout) != 0) wake_lookout();
}

// ── The lookout ───────────────────────────────────────────────────────────────────────────────

// Called by the lookout. If it returns true and all slots are empty afterwards, the next thread
// that fills a slot wakes the lookout.
bool worker_pool::lookout_may_doze(worker& w) noexcept {
  {
    const std::lock_guard lock(parked_mutex_);
    if (lookout_ != &w) return false;  // woken meanwhile
    // [lookout-dozes] seq_cst, or equivalent together with the barrier: a thread first fills a slot
    // and then reads asleep_, while the lookout first sets the bit and then reads the slots.
    // Changed under the lock.
    asleep_.fetch_or(sleeper::lookout, seq_cst);
  }
  // If all workers are parked now, a worker that runs later was woken after this and sees the bit.
  // Otherwise the barrier is needed; where it is not available, the lookout does not doze.
  if (are_all_parked() || process_barrier()) return true;
  lookout_is_awake(w);
  return false;
}

void worker_pool::lookout_is_awake(const worker& w) noexcept {
  const std::lock_guard lock(parked_mutex_);
  if (lookout_ == &w) asleep_.fetch_and(~sleeper::lookout, relaxed);  // [lookout-dozes]
}

bool worker_pool::is_anything_in_a_slot() const noexcept {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& each) { return each->has_filled_slot(); });
}

void worker_pool::wake_lookout() noexcept {
  const std::lock_guard lock(parked_mutex_);
  if ((asleep_.load(relaxed) & sleeper::lookout) == 0) return;  // [lookout-dozes] already woken
  lookout_->looks_before_it_searches();
  wake(*lookout_);
}

// The former lookout is about to run the work that it has found. If a worker is parked, it becomes
// the new lookout.
void worker_pool::another_looks_out() noexcept {
  const std::lock_guard lock(parked_mutex_);
  if (parked_workers_.empty() || lookout_ != nullptr) return;
  parked_workers_.back()->looks_before_it_searches();
  wake_parked();
}

// Takes the runnable from the slot of a worker whose turn runs long. Called by another worker's
// thread. Returns null if that is not possible at the moment. As in replace(), the thread of the
// long turn has no worker meanwhile. The owner of the slot pays nothing for this.
runnable* worker_pool::take_from_slot(worker& w) noexcept {
  const std::unique_lock lock(threads_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || is_stopping()) return nullptr;
  worker_thread& by = w.run_by();
  if (by.its_worker() != &w || !by.is_in_turn() || !by.try_take_away(w)) return nullptr;
  runnable* const r = w.take_slot();
  by.give_back(w);
  return r;
}

void worker_pool::inject(runnable& r) noexcept {
  runnable_list one;
  one.push(r);
  inject(one, 1);
}

void worker_pool::inject(runnable* const* some, std::size_t count) noexcept {
  runnable_list all;
  for (std::size_t i = 0; i < count; ++i) all.push(*some[i]);
  inject(all, count);
}

void worker_pool::inject(runnable_list some, std::size_t count) noexcept {
  const std::lock_guard lock(injected_mutex_);
  injected_.push_back(some);
  // [short] relaxed: only a hint for a worker that has one turn waiting for another.
  injected_is_short_.store(false, relaxed);
  injected_count_.fetch_add(count, seq_cst);  // [idle] W
  // Under the lock: a worker must lock the mutex to see the new work. So until here the work cannot
  // have finished, nor can it have destroyed this pool.
  wake_one_if_needed();
}

runnable* worker_pool::take_injected() noexcept {
  return take_injected(1, [](runnable&) noexcept {});
}

bool worker_pool::work_in_sight() const noexcept {
  if (stopping_.load(seq_cst)) return true;             // [idle] W [spare]
  if (injected_count_.load(seq_cst) != 0) return true;  // [idle] W
  return std::any_of(workers_.begin(), workers_.end(),  // [idle] W, in work_ring::empty()
                     [](const auto& each) { return each->has_stealable(); });
}

// The number of running workers, without those that search.
unsigned worker_pool::running() const noexcept {
  // [idle] C. [spare] A caller that needs the exact value has just changed the census, and reads
  // that value or a newer one.
  const std::uint64_t now = census_.load(seq_cst);
  return size() - census::parked(now) - census::searching(now);
}

std::uint64_t worker_pool::steps_done() const noexcept {
  std::uint64_t sum = 0;
  for_each_thread([&](const worker_thread& each) { sum += each.done().steps(); });
  return sum;
}

std::uint64_t worker_pool::turns_begun() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& each : workers_) sum += each->turns_begun();
  return sum;
}

// Counts a running worker as searching if more workers run than the limit allows.
bool worker_pool::try_step_back() noexcept {
  const std::lock_guard lock(parked_mutex_);  // one at a time
  if (running() <= limit_.now()) return false;
  census_.fetch_add(census::one_searching, seq_cst);  // [idle] C [spare]
  return true;
}

// Called by a worker that has just joined the parked ones.
bool worker_pool::needs_me(bool keeps_out) const noexcept {
  // Running workers check for work before they park, and will see it.
  if (keeps_out && running() != 0) return stopping_.load(seq_cst);  // [idle] W [spare]
  return work_in_sight();
}

void worker_pool::wake_one_if_needed() noexcept {
  const std::uint64_t now = census_.load(seq_cst);  // [idle] C
  if (census::parked(now) == 0) return wake_monitor_if_asleep();
  if (census::searching(now) != 0) return;
  // [watch] relaxed: a watcher that left before this census was read had cleared the flag before. A
  // watcher that leaves later takes another step in the census, and checks for work after it.
  const unsigned run = size() - census::parked(now);
  if (run != 0 && run >= limit_.now() && watched_.load(relaxed)) return;
  const std::lock_guard lock(parked_mutex_);
  // Checked again under the lock, so that one piece of work wakes one worker.
  const std::uint64_t still = census_.load(seq_cst);  // [idle] C [spare]
  if (parked_workers_.empty() || census::searching(still) != 0) return;
  wake_parked();
}

// The caller holds parked_mutex_, and a worker is parked.
void worker_pool::wake_parked() noexcept { wake(*parked_workers_.back()); }

// The caller holds parked_mutex_, and `parked` is on the list.
void worker_pool::wake(worker& parked) noexcept {
  is_off_the_list(parked);
  parked.wake();
}

// The caller holds parked_mutex_, and `parked` is on the list.
void worker_pool::is_off_the_list(worker& parked) noexcept {
  // It is nearly always the last one.
  const auto at = std::find(parked_workers_.rbegin(), parked_workers_.rend(), &parked);
  parked_workers_.erase(std::next(at).base());
  if (lookout_ == &parked) {
    lookout_ = nullptr;
    // [lookout-dozes] relaxed: changed under the lock. Clearing the bit needs no order.
    if ((asleep_.load(relaxed) & sleeper::lookout) != 0)
      asleep_.fetch_and(~sleeper::lookout, relaxed);
  }
  // [idle] C [spare]: it counts as searching from now on, so that other threads do not wake another
  // worker as well.
  census_.fetch_add(census::one_searching - census::one_parked, seq_cst);
}

// At most half of the workers search at a time: more would contend for the same rings.
bool worker_pool::try_search() noexcept {
  // [census] relaxed: only a limit, which may be exceeded by a few.
  if (2 * census::searching(census_.load(relaxed)) >= workers_.size()) return false;
  census_.fetch_add(census::one_searching, seq_cst);  // [idle] C [spare]
  return true;
}

void worker_pool::stop_searching() noexcept {
  const std::uint64_t before = census_.fetch_sub(census::one_searching, seq_cst);  // [idle] C
  if (census::searching(before) == 1 && work_in_sight()) wake_one_if_needed();
}

// Returns true if `w` becomes the lookout. There is one as long as any parked worker may take work.
bool worker_pool::register_parked(worker& w, bool searching, bool may_look_out) noexcept {
  const std::lock_guard lock(parked_mutex_);
  const bool looks_out = may_look_out && lookout_ == nullptr && size() > 1;
  if (looks_out) lookout_ = &w;
  parked_workers_.insert(looks_out ? parked_workers_.begin() : parked_workers_.end(), &w);
  // [idle] C
  const std::uint64_t before =
      census_.fetch_add(census::one_parked - (searching ? census::one_searching : 0), seq_cst);
  if (census::parked(before) + 1 == size()) limit_.interrupt();
  return looks_out;
}

// Returns false if another thread has woken `w` meanwhile.
bool worker_pool::withdraw_parked(worker& w) noexcept {
  const std::lock_guard lock(parked_mutex_);
  if (std::find(parked_workers_.begin(), parked_workers_.end(), &w) == parked_workers_.end())
    return false;
  is_off_the_list(w);
  return true;
}

}  // namespace troupe::detail
