// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <troupe/detail/base/assert.hpp>
#include <troupe/detail/scheduler/activity.hpp>
#include <troupe/detail/scheduler/runnable.hpp>
#include <troupe/detail/scheduler/timeline.hpp>
#include <troupe/detail/sync/asymmetric.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/per_thread.hpp>
#include <troupe/detail/sync/thread.hpp>
#include <troupe/detail/sync/thread_probe.hpp>

namespace troupe::detail {

class worker;
class worker_pool;

/// A thread of a worker pool.
///
/// It runs the turns of a worker as long as it holds that worker. If a turn takes too long, the
/// worker is given to another thread. This thread notices that when the turn returns, and then
/// rests. The protocol is in src/scheduler/README.md.
///
/// Threads: begin_turn(), end_turn(), with_worker() and give_up() from the thread itself; give()
///          from the thread that has taken it off the list of resting threads.
class worker_thread {
 public:
  /// `draws` is the timeline, or null. Throws std::bad_alloc if there is a timeline.
  worker_thread(worker_pool& pool, unsigned number, std::int64_t settles_at, timeline* draws);

  /// Starts the thread, which rests until it is given a worker. Throws std::system_error.
  void start();
  void join();  // does nothing if it was not started
  /// Returns true if the thread has finished, including the destructors of its thread-locals:
  /// join() then does not block.
  [[nodiscard]] bool has_ended() const noexcept { return probe_.has_ended(); }
  void give(worker& w) noexcept;
  void wake() noexcept { parker_.notify(); }

  void begin_turn(runnable& r) noexcept {
    turn_of_.store(&r, relaxed);    // [turn-of] relaxed: used for its address and a name
    in_turn_.store(true, release);  // [turn] release: its changes to the worker
  }
  /// Ends the turn. Returns the worker that the thread holds, or null if it has lost the worker.
  [[nodiscard]] worker* end_turn() noexcept;

  /// Calls use(worker&) within a turn; the worker cannot be taken away meanwhile. Returns false if
  /// the thread has lost the worker.
  template <class Use>
  bool with_worker(Use&& use) noexcept;

  // The following require the pool's threads_mutex_:

  /// The worker that this thread holds, or null.
  [[nodiscard]] worker* its_worker() const noexcept;
  /// Gives up the worker. Called by the thread itself, within a turn.
  void give_up() noexcept { has_.store(none, relaxed); }  // [has]
  /// Marks the thread as blocked although it still holds its worker. Called by the thread itself,
  /// within a turn.
  void blocks(bool now) noexcept { is_blocked_ = now; }
  /// Returns true if the thread is marked as blocked. The thread itself may call it without the
  /// mutex.
  [[nodiscard]] bool is_blocked() const noexcept { return is_blocked_; }
  /// Notes in the timeline that this thread's worker was given to another thread.
  void is_replaced() noexcept {
    if (lane_ != nullptr) lane_->loses_worker();
  }
  /// Takes the worker away from this thread. Called by another thread. Returns false if this thread
  /// is not in a turn or does not hold `w`.
  [[nodiscard]] bool try_take_away(worker& w) noexcept;
  /// Gives back a worker that was just taken away from this thread.
  void give_back(worker& w) noexcept { has_.store(holds(w), release); }  // [give-back]

  /// Asks the current turn to end after the message that is being handled, because others wait.
  void end_turn_soon() noexcept { activity_.ask(activity::turn_over); }

  // [turn] relaxed: a hint, or called by the thread itself.
  [[nodiscard]] bool is_in_turn() const noexcept { return in_turn_.load(relaxed); }
  [[nodiscard]] const runnable* turn_of() const noexcept {
    return turn_of_.load(relaxed);  // [turn-of]
  }
  [[nodiscard]] activity& mine() noexcept { return activity_; }
  /// Records the start of an activity in the timeline. Cost: one comparison if there is no
  /// timeline.
  void begins(timeline_slice::kind what, unsigned worker = 0) noexcept {
    if (lane_ != nullptr) [[unlikely]]
      lane_->begins(what, worker);
  }
  [[nodiscard]] const activity& done() const noexcept { return activity_; }
  [[nodiscard]] const thread_probe& probe() const noexcept { return probe_; }
  [[nodiscard]] const worker_pool& pool() const noexcept { return pool_; }

  /// The pool thread that runs the calling code, or null.
  [[nodiscard]] static worker_thread*& here() noexcept {
    return per_thread<worker_thread*>::here();
  }

 private:
  [[nodiscard]] std::string name() const;
  void run();
  worker* wait_for_worker() noexcept;
  worker* keep_worker() noexcept;

  // The thread's hold on a worker: the worker's address; the same address with a mark, while
  // another thread is about to take the worker away; or none, which carries the mark as well.
  using holding = std::uintptr_t;
  static constexpr holding mark = 1;
  static constexpr holding none = mark;
  static holding holds(const worker& w) noexcept { return reinterpret_cast<holding>(&w); }
  static worker* held(holding h) noexcept { return reinterpret_cast<worker*>(h); }
  static bool is_marked(holding h) noexcept { return (h & mark) != 0; }

  worker_pool& pool_;
  const unsigned number_;
  bool is_blocked_ = false;
  atomic<bool> in_turn_{false};
  atomic<holding> has_{none};
  atomic<const runnable*> turn_of_{nullptr};
  activity activity_;
  timeline::lane lane_;  // null if there is no timeline
  parker parker_;        // used while the thread rests
  thread_probe probe_;
  thread thread_;
};

// [take-away] Either this thread sees the mark, or the thread that set the mark sees that the turn
// is over. [give-back] acquire: also orders this load after a worker was briefly taken away and
// given back.

inline worker* worker_thread::end_turn() noexcept {
  const holding has = store_then_load_light(in_turn_, false, has_);  // [take-away]
  if (is_marked(has)) [[unlikely]]
    return keep_worker();
  return held(has);
}

template <class Use>
bool worker_thread::with_worker(Use&& use) noexcept {
  TROUPE_ASSERT(in_turn_.load(relaxed), "a worker is used outside of its turns");
  const holding has = store_then_load_light(in_turn_, false, has_);  // [take-away]
  if (is_marked(has)) [[unlikely]] {
    // [turn] [unchecked] release: publishes what was done with the worker before the mark. A
    // failure needs two of these calls around the mark and then a stale slot; the random search has
    // not reached that case.
    in_turn_.store(true, release);
    return false;
  }
  use(*held(has));
  in_turn_.store(true, release);  // [turn] release: as in begin_turn()
  return true;
}

}  // namespace troupe::detail
