// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/detail/scheduler/activity.hpp>

namespace troupe::detail {

/// The state of a runnable after one turn.
enum class turn_result : std::uint8_t {
  resting,  // no work; new work schedules it again. Must not be touched any more.
  again,    // more work: schedule it after the others
  ended,    // must never be scheduled again. Must not be touched any more.
};

/// A unit of scheduling: linked into at most one queue, run by one thread at a time.
struct runnable {
  runnable* next_runnable = nullptr;
};

/// A first-in first-out list of runnables, linked through themselves. Not thread-safe.
class runnable_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  [[nodiscard]] runnable* first() const noexcept { return first_; }

  void push(runnable& r) noexcept {
    r.next_runnable = nullptr;
    (first_ == nullptr ? first_ : last_->next_runnable) = &r;
    last_ = &r;
  }

  /// Inserts all of `others` before its own elements.
  void push_front(runnable_list others) noexcept {
    if (others.empty()) return;
    (empty() ? last_ : others.last_->next_runnable) = empty() ? others.last_ : first_;
    first_ = others.first_;
  }

  /// Appends all of `others` after its own elements.
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

/// Runs one turn on the thread whose activity is given. The layer above passes it to the executors,
/// which do not know about actors.
using turn_function = turn_result (*)(runnable& r, activity& of_thread) noexcept;

/// Schedules the next turn of a runnable: on a pool, on its own thread, or by a pump.
///
/// Threads: schedule() from any thread.
class executor {
 public:
  /// Schedules `r`, which has work and is not scheduled.
  virtual void schedule(runnable& r) noexcept = 0;

  /// Schedules `r` after the runnables that already wait.
  virtual void schedule_behind(runnable& r) noexcept { schedule(r); }

  /// Must be called when `r` has terminated or will never start, by its last turn or by its
  /// creator.
  virtual void retire(runnable&) noexcept {}

  /// Returns true if a turn may block without delaying others.
  [[nodiscard]] virtual bool may_block() const noexcept { return false; }

  /// Announces that the turn on this thread is about to block, so that other runnables waiting here
  /// run elsewhere. False if they cannot: no other thread can run turns of this executor, and the
  /// turn must not wait for one of them. In both cases has_blocked() must follow in the same turn.
  /// In a turn of another executor it only tells whether a thread is left that can run turns here.
  virtual bool will_block() noexcept { return true; }
  virtual void has_blocked() noexcept {}

  /// Runs a turn of `r`, which was scheduled here, on a thread of another executor that this one
  /// uses.
  virtual turn_result give_turn(runnable& r, turn_function turn, activity& of_thread) noexcept {
    return turn(r, of_thread);
  }

  /// Returns true if the runnables scheduled here run one at a time, on any thread.
  [[nodiscard]] virtual bool is_serial() const noexcept { return false; }

  /// The executor whose threads run the turns.
  [[nodiscard]] virtual const executor& whose_threads() const noexcept { return *this; }

 protected:
  ~executor() = default;
};

}  // namespace troupe::detail
