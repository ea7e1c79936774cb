// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/scheduler/runnable.hpp>
#include <troupe/scheduler/timeline.hpp>
#include <troupe/scheduler/tuning.hpp>
#include <troupe/scheduler/worker_pool.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/watched.hpp>
#include <troupe/sync/work_ring.hpp>

#include "pool_monitor.hpp"
#include "worker_thread.hpp"

namespace troupe::detail {

/// The work that one thread of a pool keeps to itself, and how it finds more. The thread may change:
/// another one goes on with the worker while the first one is in a turn that lasts.
///
/// Threads: push(), hand_over() and run() from the thread that has it; the ring may be stolen from by the others;
///          the parker is notified by whoever takes the worker off the list of the parked.
class worker {
 public:
  worker(worker_pool& pool, turn_function turn, unsigned index) noexcept
      : turn_(turn), pool_(pool), index_(index), random_(index + 1) {}

  /// Gives turns on this thread, until the pool stops; true if the thread has lost the worker before.
  [[nodiscard]] bool run(worker_thread& by);

  /// All that it has goes where the others find it.
  void hand_over() noexcept;

  /// Takes what this worker's own turn has woken.
  void push(runnable& r) noexcept;
  /// Likewise, where the turn was used up: behind the others.
  void push_behind(runnable& r) noexcept;

  /// By any thread; it comes before what is scheduled afterwards.
  void gives_turns_by(turn_function turn) noexcept {
    turn_.store(turn, relaxed);  // [turn-function]
  }

  // [unchecked] [run-by] release, acquire: that thread may have been made a moment ago, which the checker does not see.
  void is_run_by(worker_thread& by) noexcept { run_by_.store(&by, release); }
  /// Maybe not any more. It lives as long as the pool.
  // [unchecked] [run-by] acquire.
  [[nodiscard]] worker_thread& run_by() const noexcept { return *run_by_.load(acquire); }
  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] std::uint64_t turns_begun() const noexcept { return run_by().done().turns.value(); }
  [[nodiscard]] bool has_stealable() const noexcept { return !ring_.empty(); }
  /// Somebody waits for a turn here.
  [[nodiscard]] bool has_waiting() const noexcept {
    return slot_.load(relaxed) != nullptr || has_stealable();  // [slot] relaxed: a look
  }
  void wake() noexcept { parker_.notify(); }

 private:
  runnable* next() noexcept;
  runnable* take_injected() noexcept;
  runnable* find_work(bool searching) noexcept;
  runnable* wait_for_work(bool searching) noexcept;
  void begins(timeline_slice::kind what) noexcept { run_by().begins(what, index_ + 1); }
  void sleep(bool searched, bool keeps_out) noexcept;
  void watch() noexcept;
  [[nodiscard]] bool sees_one_stuck() noexcept;
  [[nodiscard]] bool may_take() noexcept;
  runnable* search() noexcept;
  runnable* steal() noexcept;
  void push_to_ring(runnable& r) noexcept;
  [[nodiscard]] bool alone() const noexcept;
  [[nodiscard]] bool is_time_to_look() noexcept;
  [[nodiscard]] bool are_too_many() noexcept;

  atomic<turn_function> turn_;  // first: so each turn reads it with one instruction
  worker_pool& pool_;
  atomic<worker_thread*> run_by_{nullptr};
  const unsigned index_;
  std::uint32_t random_;
  unsigned turns_until_look_ = tuning::injected_interval;
  unsigned slot_streak_ = 0;
  // [slot] relaxed: its thread's; others only look.
  atomic<runnable*> slot_{nullptr};

  bool others_first_ = false;       // the last turn was used up
  bool steps_back_ = false;         // more run than may
  bool others_seen_ = false;        // the last look at the others, while too many ran
  std::uint64_t others_turns_ = 0;  // likewise

  // What the watcher has seen of this worker; only the watcher uses them.
  watched<std::uint64_t> turns_seen_ = 0;
  watched<unsigned> stuck_for_ = 0;

  work_ring<runnable, tuning::ring_capacity> ring_;
  parker parker_;
};

inline void worker::push(runnable& r) noexcept {
  runnable* const before = slot_.load(relaxed);  // [slot]
  slot_.store(&r, relaxed);
  if (before != nullptr) push_to_ring(*before);
  pool_.wake_monitor_if_asleep();
}

}  // namespace troupe::detail
