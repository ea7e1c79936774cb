// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include <troupe/detail/scheduler/runnable.hpp>
#include <troupe/detail/sync/atomic.hpp>

namespace troupe::detail {

/// The smallest runnable that uses an executor as an actor does.
///
/// It counts the requested pieces of work, is scheduled when the count leaves zero, and does one
/// piece in each turn.
///
/// Threads: poke() from any thread. The data that `work` uses needs no atomics as long as the
///          executor keeps its promises: one turn at a time, and each turn sees the effects of the
///          previous one.
struct task : runnable {
  explicit task(
      executor& on, std::function<void()> what = [] {})
      : runs_on(on), work(std::move(what)) {}
  task(const task&) = delete;
  task& operator=(const task&) = delete;

  ~task() { wait_until_it_rests(); }

  /// Waits until no work is left. The turn that reported the last piece of work has then finished,
  /// and no turn accesses this task any more.
  void wait_until_it_rests() const {
    while (asked.load(acquire) != 0) std::this_thread::yield();  // [asked]
  }

  void poke() {
    // [asked] acquire: the thread that schedules the task continues after the task's last turn.
    // Release: the turn sees what the caller did before.
    if (asked.fetch_add(1, acq_rel) == 0) runs_on.schedule(*this);
  }

  /// Makes the current turn the last one. Called within `work`.
  void end() { ending = true; }

  static turn_result turn(runnable& r, activity& of_thread) noexcept {
    auto& self = static_cast<task&>(r);
    of_thread.turns.add(1);
    of_thread.handled.add(1);  // short steps: the pool measures how many workers pay off
    self.work();
    ++self.done;
    if (self.ending) {
      self.runs_on.retire(self);
      self.asked.store(0, release);  // [asked] as in poke()
      return turn_result::ended;
    }
    // [asked] as in poke(). Once the count is zero, another thread may run or destroy the task.
    return self.asked.fetch_sub(1, acq_rel) == 1 ? turn_result::resting : turn_result::again;
  }

  /// The turn function for a pool that also runs turns on behalf of another executor.
  static turn_result turn_by_executor(runnable& r, activity& of_thread) noexcept {
    return static_cast<task&>(r).runs_on.give_turn(r, turn, of_thread);
  }

  executor& runs_on;
  std::function<void()> work;
  atomic<int> asked{0};
  int done = 0;
  bool ending = false;
};

}  // namespace troupe::detail
