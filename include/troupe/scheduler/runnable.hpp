// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/scheduler/activity.hpp>

namespace troupe::detail {

/// What one turn left behind.
enum class turn_result : std::uint8_t {
  resting,  // nothing to do; whoever brings work schedules it again. Not to be touched any more.
  again,    // more to do: schedule it behind the others
  ended,    // never to be scheduled again. Not to be touched any more.
};

/// Something that gets turns: linked into one queue at most, run by one thread at a time.
struct runnable {
  runnable* next_runnable = nullptr;
};

/// A first-in first-out list of runnables, linked through themselves. Not for several threads.
class runnable_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  [[nodiscard]] runnable* first() const noexcept { return first_; }

  void push(runnable& r) noexcept {
    r.next_runnable = nullptr;
    (first_ == nullptr ? first_ : last_->next_runnable) = &r;
    last_ = &r;
  }

  /// All of `others`, before its own.
  void push_front(runnable_list others) noexcept {
    if (others.empty()) return;
    (empty() ? last_ : others.last_->next_runnable) = empty() ? others.last_ : first_;
    first_ = others.first_;
  }

  /// All of `others`, behind its own.
  void push_back(runnable_list others) noexcept {
    if (others.empty()) return;
    (empty() ? first_ : last_->next_runnable) = others.first_;
    last_ = others.last_;
  }

  runnable* pop() noexcept {
    runnable* const r = first_;
    if (r != nullptr) first_ = r->next_runnable;
    return r;
  }

 private:
  runnable* first_ = nullptr;
  runnable* last_ = nullptr;
};

/// Runs one turn on the thread whose activity is given. Handed to the executors from above: they
/// know nothing of actors.
using turn_function = turn_result (*)(runnable& r, activity& of_thread) noexcept;

/// Sees to it that a runnable gets its next turn: a pool, a thread of its own, a pump.
///
/// Threads: schedule() from anywhere.
class executor {
 public:
  /// `r` has work and no turn to come; this gives it one.
  virtual void schedule(runnable& r) noexcept = 0;

  /// The same, behind those that wait already.
  virtual void schedule_behind(runnable& r) noexcept { schedule(r); }

  /// `r` has ended, or will never start. Called by its last turn, or by its maker.
  virtual void retire(runnable&) noexcept {}

  /// True if a turn may block without holding up another.
  [[nodiscard]] virtual bool may_block() const noexcept { return false; }

  /// The turn that runs on this thread is about to block: what else waits here for a turn should
  /// get it elsewhere. False if there is no elsewhere.
  virtual bool will_block() noexcept { return true; }

  /// A turn of `r`, which was scheduled here, on a thread of another executor that this one uses.
  virtual turn_result give_turn(runnable& r, turn_function turn, activity& of_thread) noexcept {
    return turn(r, of_thread);
  }

  /// True if those that are scheduled here get one turn at a time, on whichever thread.
  [[nodiscard]] virtual bool is_serial() const noexcept { return false; }

  /// On whose threads it gives the turns.
  [[nodiscard]] virtual const executor& whose_threads() const noexcept { return *this; }

 protected:
  ~executor() = default;
};

}  // namespace troupe::detail
