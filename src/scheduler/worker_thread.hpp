// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <troupe/base/assert.hpp>
#include <troupe/scheduler/activity.hpp>
#include <troupe/scheduler/runnable.hpp>
#include <troupe/scheduler/timeline.hpp>
#include <troupe/sync/asymmetric.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/per_thread.hpp>
#include <troupe/sync/thread.hpp>
#include <troupe/sync/thread_probe.hpp>

namespace troupe::detail {

class worker;
class worker_pool;

/// A thread of a pool. It runs the turns of a worker as long as it has that worker. One that is in a turn
/// for too long loses its worker to another thread, finds that out when it comes back, and rests.
/// src/scheduler/README.md has the protocol.
///
/// Threads: begin_turn(), end_turn(), with_worker() and give_up() from itself; give() from who has taken it
///          off those that rest.
class worker_thread {
 public:
  /// `draws`: null if there is no timeline; else throws std::bad_alloc.
  worker_thread(worker_pool& pool, unsigned number, std::int64_t settles_at, timeline* draws);

  /// It rests until it is given a worker. Throws std::system_error.
  void start();
  void join();  // if it was started
  void give(worker& w) noexcept;
  void wake() noexcept { parker_.notify(); }

  void begin_turn(runnable& r) noexcept {
    turn_of_.store(&r, relaxed);    // [turn-of] relaxed: only for its address, and for a name
    in_turn_.store(true, release);  // [turn] release: what it did with its worker
  }
  /// The worker that it has; null if it has lost it.
  [[nodiscard]] worker* end_turn() noexcept;

  /// Within a turn: use(worker&), and nobody takes it away meanwhile. False if it is gone.
  template <class Use>
  bool with_worker(Use&& use) noexcept;

  // Under the pool's threads_mutex_:

  /// What it has, or null.
  [[nodiscard]] worker* its_worker() const noexcept;
  /// Within a turn of its own.
  void give_up() noexcept { has_.store(none, relaxed); }  // [has]
  /// What it had has been given to another one.
  void is_replaced() noexcept {
    if (lane_ != nullptr) lane_->loses_worker();
  }
  /// By another thread. False if it is not in a turn, or has not got that worker.
  [[nodiscard]] bool try_take_away(worker& w) noexcept;
  /// What has just been taken away.
  void give_back(worker& w) noexcept { has_.store(holds(w), release); }  // [give-back]

  /// Others wait: it ends behind the message that is being handled.
  void end_turn_soon() noexcept { activity_.ask(activity::turn_over); }

  // [turn] relaxed: a look, or its own.
  [[nodiscard]] bool is_in_turn() const noexcept { return in_turn_.load(relaxed); }
  [[nodiscard]] const runnable* turn_of() const noexcept {
    return turn_of_.load(relaxed);  // [turn-of]
  }
  [[nodiscard]] activity& mine() noexcept { return activity_; }
  /// For the timeline. Cost: a test if there is none.
  void begins(timeline_slice::kind what, unsigned worker = 0) noexcept {
    if (lane_ != nullptr) [[unlikely]]
      lane_->begins(what, worker);
  }
  [[nodiscard]] const activity& done() const noexcept { return activity_; }
  [[nodiscard]] const thread_probe& probe() const noexcept { return probe_; }
  [[nodiscard]] const worker_pool& pool() const noexcept { return pool_; }

  /// That which runs this code, or null.
  [[nodiscard]] static worker_thread*& here() noexcept {
    return per_thread<worker_thread*>::here();
  }

 private:
  [[nodiscard]] std::string name() const;
  void run();
  worker* wait_for_worker() noexcept;
  worker* keep_worker() noexcept;

  // What it has: a worker; the same, marked by one who is about to take it away; or none, with a mark, too.
  using holding = std::uintptr_t;
  static constexpr holding mark = 1;
  static constexpr holding none = mark;
  static holding holds(const worker& w) noexcept { return reinterpret_cast<holding>(&w); }
  static worker* held(holding h) noexcept { return reinterpret_cast<worker*>(h); }
  static bool is_marked(holding h) noexcept { return (h & mark) != 0; }

  worker_pool& pool_;
  const unsigned number_;
  atomic<bool> in_turn_{false};
  atomic<holding> has_{none};
  atomic<const runnable*> turn_of_{nullptr};
  activity activity_;
  timeline::lane lane_;  // null: there is no timeline
  parker parker_;        // while it rests
  thread_probe probe_;
  thread thread_;
};

// [take-away] Either this sees the mark, or who has set it sees that the turn is over. [give-back] acquire: in the
// load as well, what was taken away for a moment.

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
    // [turn] [unchecked] release: what was done with it before the mark. It takes two of these around the mark, and then
    // an old slot; the search at random has not come by.
    in_turn_.store(true, release);
    return false;
  }
  use(*held(has));
  in_turn_.store(true, release);  // [turn] release: as in begin_turn()
  return true;
}

}  // namespace troupe::detail
