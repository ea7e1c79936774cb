// SPDX-License-Identifier: Apache-2.0
#include "pool_monitor.hpp"

#include <algorithm>

#include <troupe/scheduler/tuning.hpp>
#include <troupe/scheduler/worker_pool.hpp>

#include "worker.hpp"

namespace troupe::detail {

void pool_monitor::start(duration stuck_after) {
  if (stuck_after <= duration::zero()) return;
  stuck_after_ = std::max<duration>(stuck_after, tuning::stuck_after_least);
  seen_.resize(pool_.size());
  thread_ = start_thread(pool_.thread_name("monitor"), [this] { run(); });
}

void pool_monitor::stop() noexcept {
  if (!thread_.joinable()) return;
  parker_.notify();  // the pool says that it stops
  thread_.join();
}

void pool_monitor::wake() noexcept {
  // [monitor-sleeps] relaxed: who changes it wakes it, and the others need not.
  if (pool_.monitor_sleeps_.exchange(false, relaxed)) parker_.notify();
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

// [monitor-sleeps] seq_cst, and the census, too: if this finds all workers parked, whoever is woken later finds
// that the monitor sleeps when he leaves work to one that runs.
void pool_monitor::sleep_while_nobody_runs() noexcept {
  pool_.monitor_sleeps_.store(true, seq_cst);
  if (pool_.are_all_parked() && !pool_.is_stopping()) {
    parker_.park();
    pool_.monitor_sleeps_.store(false, relaxed);  // [monitor-sleeps] by stop() it may still be true
  } else if (!pool_.monitor_sleeps_.exchange(false, relaxed)) {  // [monitor-sleeps]
    // Somebody wakes it all the same: left there, that would make the next look come too soon.
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

// `behind`: others wait for this worker's next turn. `elsewhere`: they have a worker, but could do with another one.
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
  // [turn-over] relaxed: a look.
  if (by.done().is_waited_for.load(relaxed)) by.end_turn_soon();
  seen.waited = behind || elsewhere ? seen.waited + 1 : 0;
  if (seen.waited == 0) return;
  if (behind) by.end_turn_soon();
  if (seen.waited < tuning::looks_until_told || seen.looks < tuning::looks_until_stuck) return;
  // Who would compute, but has no core, would not get one sooner for another thread; and who computes has no core to
  // spare for those elsewhere.
  const bool computes = behind && by.probe().cpu_time() - seen.cpu_time >= (now - seen.first) / 2;
  if (!computes && !by.probe().is_blocked()) return;
  const duration lasted = now - seen.first + stuck_after_ / tuning::looks_until_stuck;
  if (!pool_.replace(one, by, lasted, seen.is_told)) seen.is_told = true;
}

}  // namespace troupe::detail
