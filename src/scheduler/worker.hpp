// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/scheduler/runnable.hpp>
#include <troupe/scheduler/timeline.hpp>
#include <troupe/scheduler/tuning.hpp>
#include <troupe/scheduler/worker_pool.hpp>
#include <troupe/sync/asymmetric.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/watched.hpp>
#include <troupe/sync/work_ring.hpp>

#include "pool_monitor.hpp"
#include "victim_search.hpp"
#include "worker_thread.hpp"

namespace troupe::detail {

/// The local queues of one pool thread, and its search for more work.
///
/// A worker may change its thread: if a turn runs for too long, another thread takes over the
/// worker.
///
/// Threads: push(), hand_over() and run() from the thread that holds the worker. Other threads may
///          steal from the ring. The parker is notified by the thread that takes the worker off the
///          list of parked workers.
class worker {
 public:
  worker(worker_pool& pool, turn_function turn, unsigned index) noexcept
      : turn_(turn), pool_(pool), index_(index), search_(index + 1) {}

  /// Runs turns on this thread until the pool stops. Returns true if the thread lost the worker
  /// before that.
  [[nodiscard]] bool run(worker_thread& by);

  /// Moves all work of the slot and the ring to the shared queue.
  void hand_over() noexcept;

  /// Queues a runnable that this worker's own turn has woken.
  void push(runnable& r) noexcept;
  /// Queues a runnable after the others because its turn was used up.
  void push_behind(runnable& r) noexcept;

  /// Sets the function that runs turns. Any thread may call it; the function applies to every
  /// runnable that is scheduled afterwards.
  void gives_turns_by(turn_function turn) noexcept {
    turn_.store(turn, relaxed);  // [turn-function]
  }

  // [unchecked] [run-by] release, acquire: the thread may have been created just before. The
  // checker does not exercise this case.
  void is_run_by(worker_thread& by) noexcept { run_by_.store(&by, release); }
  /// The thread that runs this worker; it may have been replaced by the time this returns. The
  /// object lives as long as the pool.
  // [unchecked] [run-by] acquire.
  [[nodiscard]] worker_thread& run_by() const noexcept { return *run_by_.load(acquire); }
  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] std::uint64_t turns_begun() const noexcept { return run_by().done().turns.value(); }
  [[nodiscard]] bool has_stealable() const noexcept { return !ring_.empty(); }
  /// Returns true if a runnable waits here.
  [[nodiscard]] bool has_waiting() const noexcept {
    return slot_.load(relaxed) != nullptr || has_stealable();  // [slot] relaxed: a hint
  }
  // [lookout-dozes] seq_cst
  [[nodiscard]] bool has_filled_slot() const noexcept { return slot_.load(seq_cst) != nullptr; }
  void wake() noexcept { parker_.notify(); }
  /// Makes the worker act as the lookout before it searches. Must be called before the worker is
  /// woken.
  void looks_before_it_searches() noexcept { looks_first_ = true; }
  /// Removes and returns the runnable in the slot. Called by the thread that holds the worker.
  [[nodiscard]] runnable* take_slot() noexcept {
    runnable* const r = slot_.load(relaxed);  // [slot]
    slot_.store(nullptr, relaxed);
    return r;
  }

 private:
  runnable* next() noexcept;
  runnable* take_injected() noexcept;
  runnable* find_work(bool searching) noexcept;
  runnable* wait_for_work(bool searching) noexcept;
  void begins(timeline_slice::kind what) noexcept { run_by().begins(what, index_ + 1); }
  runnable* sleep(bool searched, bool keeps_out) noexcept;
  runnable* look_out() noexcept;
  enum class slots_seen : std::uint8_t { quiet, busy, waiting };
  runnable* look_at_slots(slots_seen& what) noexcept;
  void watch() noexcept;
  [[nodiscard]] bool sees_one_stuck() noexcept;
  [[nodiscard]] bool may_take() noexcept;
  runnable* search() noexcept;
  void push_to_ring(runnable& r) noexcept;
  [[gnu::noinline]] void push_beside_sleepers(runnable* before) noexcept;
  [[nodiscard]] bool alone() const noexcept;
  [[nodiscard]] bool is_time_to_look() noexcept;
  [[nodiscard]] bool are_too_many() noexcept;

  atomic<turn_function> turn_;  // first member: each turn reads it with one instruction
  worker_pool& pool_;
  atomic<worker_thread*> run_by_{nullptr};
  const unsigned index_;
  victim_search search_;
  unsigned turns_until_look_ = tuning::injected_interval;
  unsigned slot_streak_ = 0;
  // [slot] relaxed: written by the worker's thread; other threads only read it as a hint. A thread
  // that empties the slot holds the worker meanwhile.
  atomic<runnable*> slot_{nullptr};

  bool others_first_ = false;       // the last turn was used up: look at the shared queue first
  bool steps_back_ = false;         // more workers run than the limit allows
  bool others_seen_ = false;        // others_turns_ was read while too many workers ran
  std::uint64_t others_turns_ = 0;  // turns of the other workers at that time

  // The watcher's last observation of this worker. Used by the watcher only.
  watched<std::uint64_t> turns_seen_ = 0;
  watched<unsigned> stuck_for_ = 0;
  // The lookout's last observation of this worker. [looks] relaxed: hints; the previous lookout may
  // still be finishing its last pass.
  atomic<std::uint64_t> turns_looked_at_{0};
  atomic<runnable*> waits_looked_at_{nullptr};

  watched<bool> looks_first_ = false;  // the worker's own, except that the waker sets it

  work_ring<runnable, tuning::ring_capacity> ring_;
  parker parker_;
};

inline void worker::push(runnable& r) noexcept {
  runnable* const before = slot_.load(relaxed);  // [slot]
  // [lookout-dozes] Either this thread sees that the lookout dozes, or the lookout checks the slot
  // afterwards.
  // [monitor-sleeps] The monitor sleeps only while all workers are parked, and this worker was
  // woken after the monitor fell asleep.
  const unsigned asleep = store_then_load_lightest(slot_, &r, pool_.asleep_);
  // In a function of its own: nothing is then needed after a call, and the caller saves fewer
  // registers for each wake-up.
  if (asleep != 0) [[unlikely]]
    return push_beside_sleepers(before);
  if (before != nullptr) push_to_ring(*before);
}

}  // namespace troupe::detail
