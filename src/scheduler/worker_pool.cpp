// SPDX-License-Identifier: Apache-2.0
#include <troupe/scheduler/worker_pool.hpp>

#include <algorithm>

#include <troupe/scheduler/schedule_batch.hpp>

#include "pool_monitor.hpp"
#include "worker.hpp"
#include "worker_thread.hpp"

// Why nobody sleeps while there is work. Three steps meet here, all of them seq_cst; anything
// weaker lets each side miss the other (store buffering), and the work would wait for the next one:
//
//   bringing work   publish it (a ring's tail, injected_count_)    [idle] W
//                   then look at census_                           [idle] C
//   parking         leave the searchers, join the parked: census_  [idle] C
//                   then look at every ring and injected_count_    [idle] W
//   finding work    leave the searchers: census_                   [idle] C
//                   then look at every ring and injected_count_    [idle] W
//
// Who brings work and sees a searcher wakes nobody: that searcher still has one of the last two
// steps before it, and will see the work. Of several searchers that find work only the last one
// looks again: whoever brought work while the others were still searching was counting on any of
// them. Who sees no searcher but somebody parked wakes one.
//
// Who keeps out (README.md) parks as well, and was a searcher like any other, but looks who runs instead
// of what there is: while somebody does, that one has the step of parking before it, and sees the work. The
// last one that runs or searches finds nobody else in the census, and looks at the work. So the same
// holds for who brings work and sees a watcher and as many running as may: he wakes nobody. If fewer run,
// the watcher comes when it looks next.
//
// Where it says [spare], something weaker would do: joining the searchers, say, needs no order against
// the work. It stays seq_cst, at no cost on any processor that we know of for a read-modify-write, so
// that the argument above is all that there is to it.

namespace troupe::detail {

worker_pool::worker_pool(const pool_options& options, turn_function turn)
    : max_threads_(std::max(options.workers, std::min(options.max_threads, tuning::most_threads))),
      turn_messages_(options.turn_messages),
      search_rounds_(options.search_rounds),
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
  thread_count_.store(options.workers, relaxed);  // [threads] relaxed: they start afterwards
  prepare_heavy_barrier();
  try {
    for (unsigned i = 0; i < options.workers; ++i) {
      threads_[i]->start();
      threads_[i]->give(*workers_[i]);
    }
    monitor_->start(options.stuck_after);
  } catch (...) {
    stop();
    throw;
  }
}

worker_pool::~worker_pool() { stop(); }

void worker_pool::stop() noexcept {
  // [stop] release: the workers' acquire in find_work() and work_in_sight().
  // [idle] W, seq_cst: stopping is work for each worker: who parks afterwards must see it.
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
  // Nobody is added any more: who would have seen that it stops, under the mutex.
  for_each_thread([](worker_thread& each) { each.join(); });
}

bool worker_pool::is_stopping() const noexcept {
  return stopping_.load(acquire);  // [stop] [spare] Who asks has a mutex or a parker in between.
}

unsigned worker_pool::parked() const noexcept {
  // [census] relaxed: a figure for people.
  return census::parked(census_.load(relaxed));
}

bool worker_pool::are_all_parked() const noexcept {
  // [idle] C: for the monitor that is about to sleep.
  return census::parked(census_.load(seq_cst)) == size();
}

template <class Look>
void worker_pool::for_each_thread(Look&& look) const noexcept {
  // [unchecked] [threads] acquire: they are complete. [alive] seq_cst: who looks whether an actor that has ended was the
  // last one sees the thread on which it did.
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
  // On its way out of the pool, or in a hook, it is as good as foreign.
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
  // Under the lock, as in inject(). Who runs at this look sees it, at the latest before he parks.
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
  // [short] relaxed: only a hint where one turn waits for another.
  injected_is_short_.store(false, relaxed);
  injected_count_.fetch_add(count, seq_cst);  // [idle] W
  // Under the lock: a worker must take it to see what was brought, so until here that cannot have
  // ended, nor this pool with it.
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

// Without those who search.
unsigned worker_pool::running() const noexcept {
  // [idle] C. [spare] Who needs it exactly has just changed the census, and reads that or what is newer.
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

// From the running to the searching, if more run than should.
bool worker_pool::try_step_back() noexcept {
  const std::lock_guard lock(parked_mutex_);  // one at a time
  if (running() <= limit_.now()) return false;
  census_.fetch_add(census::one_searching, seq_cst);  // [idle] C [spare]
  return true;
}

// Asked by one that has just joined the parked.
bool worker_pool::needs_me(bool keeps_out) const noexcept {
  // Those who run look before they park, and will see what there is.
  if (keeps_out && running() != 0) return stopping_.load(seq_cst);  // [idle] W [spare]
  return work_in_sight();
}

void worker_pool::wake_one_if_needed() noexcept {
  const std::uint64_t now = census_.load(seq_cst);  // [idle] C
  if (census::parked(now) == 0) return wake_monitor_if_asleep();
  if (census::searching(now) != 0) return;
  // [watch] relaxed: who left the watch before this census has cleared the flag before; who leaves
  // after it takes another step in the census, and looks at the work after that.
  const unsigned run = size() - census::parked(now);
  if (run != 0 && run >= limit_.now() && watched_.load(relaxed)) return;
  const std::lock_guard lock(parked_mutex_);
  // Looked at again under the lock, so that one piece of work wakes one worker.
  const std::uint64_t still = census_.load(seq_cst);  // [idle] C [spare]
  if (parked_workers_.empty() || census::searching(still) != 0) return;
  wake_parked();
}

// The caller holds parked_mutex_; somebody is parked.
void worker_pool::wake_parked() noexcept {
  worker* const chosen = parked_workers_.back();
  parked_workers_.pop_back();
  // [idle] C [spare]: it counts as searching from here on, so that others need not wake one as well.
  census_.fetch_add(census::one_searching - census::one_parked, seq_cst);
  chosen->wake();
}

// At most half of the workers search at a time: more would fight over the same rings.
bool worker_pool::try_search() noexcept {
  // [census] relaxed: only a limit; it may be missed by a few.
  if (2 * census::searching(census_.load(relaxed)) >= workers_.size()) return false;
  census_.fetch_add(census::one_searching, seq_cst);  // [idle] C [spare]
  return true;
}

void worker_pool::stop_searching() noexcept {
  const std::uint64_t before = census_.fetch_sub(census::one_searching, seq_cst);  // [idle] C
  if (census::searching(before) == 1 && work_in_sight()) wake_one_if_needed();
}

void worker_pool::register_parked(worker& w, bool searching) noexcept {
  const std::lock_guard lock(parked_mutex_);
  parked_workers_.push_back(&w);
  // [idle] C
  const std::uint64_t before =
      census_.fetch_add(census::one_parked - (searching ? census::one_searching : 0), seq_cst);
  if (census::parked(before) + 1 == size()) limit_.interrupt();
}

// False if somebody has woken `w` meanwhile.
bool worker_pool::withdraw_parked(worker& w) noexcept {
  const std::lock_guard lock(parked_mutex_);
  const auto at = std::find(parked_workers_.begin(), parked_workers_.end(), &w);
  if (at == parked_workers_.end()) return false;
  parked_workers_.erase(at);
  census_.fetch_add(census::one_searching - census::one_parked, seq_cst);  // [idle] C [spare]
  return true;
}

}  // namespace troupe::detail
