// SPDX-License-Identifier: Apache-2.0
#include "pool_monitor.hpp"

#include <algorithm>

#include <troupe/scheduler/tuning.hpp>
#include <troupe/scheduler/worker_pool.hpp>

#include "worker.hpp"

namespace troupe::detail {

void pool_monitor::start(duration blocking_threshold) {
  if (blocking_threshold <= duration::zero()) return;
  stuck_after_ = std::max<duration>(blocking_threshold, tuning::stuck_after_least);
  seen_.resize(pool_.size());
  thread_ = start_thread(pool_.thread_name("monitor"), [this] { run(); });
}

void pool_monitor::stop() noexcept {
  if (!thread_.joinable()) return;
  parker_.notify();  // is_stopping() is true by now
  thread_.join();
}

void pool_monitor::wake() noexcept {
  // [monitor-sleeps] relaxed: the thread that clears the bit wakes the monitor; the other threads
  // need not.
  if (is_awake_now()) parker_.notify();
}

// Clears the monitor's sleep bit. Returns true if the bit was set. [monitor-sleeps] relaxed: see
// the callers.
bool pool_monitor::is_awake_now() noexcept {
  constexpr unsigned mine = worker_pool::sleeper::monitor;
  return (pool_.asleep_.fetch_and(~mine, relaxed) & mine) != 0;
}

void pool_monitor::run() noexcept {
  while (!pool_.is_stopping()) {
    if (looks_without_turns_ < tuning::looks_before_sleep) {
      (void)parker_.park_until(later(clock::now(), stuck_after_ / tuning::looks_until_stuck));
      look();
    } else {
      looks_without_turns_ = 0;
      sleep_while_nobody_runs();
    }
  }
}

// [monitor-sleeps] seq_cst, here and for the census: if this finds all workers parked, a worker
// that is woken later sees that the monitor sleeps when it leaves work to a running worker.
void pool_monitor::sleep_while_nobody_runs() noexcept {
  pool_.asleep_.fetch_or(worker_pool::sleeper::monitor, seq_cst);
  if (pool_.are_all_parked() && !pool_.is_stopping()) {
    parker_.park();
    (void)is_awake_now();  // stop() wakes it without clearing the bit
  } else if (!is_awake_now()) {
    // Another thread has cleared the bit and notifies the parker. Without this wait, the leftover
    // token would make the next sample come too early.
    parker_.park();
  }
}

void pool_monitor::look() noexcept {
  if (pool_.are_all_parked()) {
    ++looks_without_turns_;
    return;
  }
  looks_without_turns_ = 0;
  const bool injected = pool_.has_injected();
  const bool elsewhere = std::any_of(pool_.workers_.begin(), pool_.workers_.end(),
                                     [](const auto& each) { return each->has_stealable(); });
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    worker& each = *pool_.workers_[i];
    look_at(each, seen_[i], injected || each.has_waiting(), elsewhere);
  }
}

// `behind`: runnables wait for this worker's next turn. `elsewhere`: runnables wait at another
// worker, and this worker could take some of them.
void pool_monitor::look_at(worker& one, turn_seen& seen, bool behind, bool elsewhere) noexcept {
  worker_thread& by = one.run_by();
  const std::uint64_t turn = by.done().turns.value();
  if (seen.by != &by || seen.number != turn || !by.is_in_turn()) {
    seen = {.by = &by, .number = turn};
    return;
  }
  const time_point now = clock::now();
  if (++seen.looks == 1) {
    seen.first = now;
    seen.cpu_time = by.probe().cpu_time();
  }
  // [turn-over] relaxed: a hint.
  if (by.done().is_waited_for.load(relaxed)) by.end_turn_soon();
  seen.waited = behind || elsewhere ? seen.waited + 1 : 0;
  if (seen.waited == 0) return;
  if (behind) by.end_turn_soon();
  if (seen.waited < tuning::looks_until_told || seen.looks < tuning::looks_until_stuck) return;
  // A thread that wants to compute but has no core would not get one sooner through another thread.
  // A thread that computes has no core to spare for work that waits elsewhere.
  const bool computes = behind && by.probe().cpu_time() - seen.cpu_time >= (now - seen.first) / 2;
  if (!computes && !by.probe().is_blocked()) return;
  const duration lasted = now - seen.first + stuck_after_ / tuning::looks_until_stuck;
  if (!pool_.replace(one, by, lasted, seen.is_told)) seen.is_told = true;
}

}  // namespace troupe::detail
