// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include <troupe/scheduler/runnable.hpp>
#include <troupe/sync/atomic.hpp>

namespace troupe::detail {

/// The least that behaves towards an executor as an actor does: it counts what it is asked for, is
/// scheduled when the count leaves zero, and does one piece in each turn.
///
/// Threads: poke() from anywhere. What `work` touches needs no atomics as long as the executor keeps
///          its promises: one turn at a time, and each sees what the one before did.
struct task : runnable {
  explicit task(
      executor& on, std::function<void()> what = [] {})
      : runs_on(on), work(std::move(what)) {}
  task(const task&) = delete;
  task& operator=(const task&) = delete;

  ~task() { wait_until_it_rests(); }

  /// Also for the end of the turn that has told its last piece of work: after this no turn touches
  /// it.
  void wait_until_it_rests() const {
    while (asked.load(acquire) != 0) std::this_thread::yield();  // [asked]
  }

  void poke() {
    // [asked] acquire: who schedules it comes after its last turn. Release: the turn sees what the
    // caller did before.
    if (asked.fetch_add(1, acq_rel) == 0) runs_on.schedule(*this);
  }

  /// In `work`: this turn is the last one.
  void end() { ending = true; }

  static turn_result turn(runnable& r, activity& of_thread) noexcept {
    auto& self = static_cast<task&>(r);
    of_thread.turns.add(1);
    of_thread.handled.add(1);  // short steps, so that the pool measures how many should share them
    self.work();
    ++self.done;
    if (self.ending) {
      self.runs_on.retire(self);
      self.asked.store(0, release);  // [asked] as below
      return turn_result::ended;
    }
    // [asked] as in poke(). From zero on this is not ours any more.
    return self.asked.fetch_sub(1, acq_rel) == 1 ? turn_result::resting : turn_result::again;
  }

  /// For a pool whose turns are not all scheduled by itself.
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
