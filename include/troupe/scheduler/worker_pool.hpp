// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/base/cache_line.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/scheduler/activity.hpp>
#include <troupe/scheduler/runnable.hpp>
#include <troupe/scheduler/tuning.hpp>
#include <troupe/scheduler/worker_limit.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/sync/thread_traits.hpp>

namespace troupe::detail {

class pool_monitor;
class timeline;
class worker;
class worker_thread;

/// A turn that took long while other runnables waited, so that another thread took over its worker.
struct stuck_turn {
  const runnable* whose;  // only an address: the turn may be over
  duration lasted;        // approximately; zero if the turn has announced that it would block
  unsigned threads;       // of the pool from now on
};

/// Notified when a pool grows or shrinks. Called on the monitor thread, on the thread of a turn
/// that is about to block, or on a thread that ends. It must not block.
class pool_listener {
 public:
  virtual void grew(const stuck_turn& why) noexcept = 0;
  virtual void could_not_grow(const stuck_turn& why) noexcept = 0;
  virtual void shrank(unsigned threads) noexcept = 0;

 protected:
  ~pool_listener() = default;
};

struct pool_options {
  unsigned workers = 1;
  unsigned max_threads = 512;     // at least `workers`, at most tuning::most_threads
  duration blocking_threshold{};  // zero: only turns that announce it give up their workers
  std::size_t turn_messages = tuning::turn_messages;
  unsigned spin_rounds = tuning::spin_rounds;
  std::int64_t settles_at = activity::never;
  pool_listener* listener = nullptr;
  std::string name = "troupe";  // prefix of the threads' names, before a number
  thread_traits threads = {};   // with as many CPUs as workers, each worker has its own
  timeline* draws = nullptr;    // the timeline to record to, or null
};

/// Runs turns on a fixed number of workers. Each worker has a thread. When a turn takes too long,
/// another thread takes over the worker, so that the runnables waiting there run.
///
/// A runnable woken by a worker's own turn goes to that worker's private slot, and from there to
/// its ring when the next one is woken. So actors that communicate with each other stay on one core
/// while there is no other work. Workers without work steal half of another worker's ring, and one
/// of them takes the runnable in the slot of a worker whose turn takes long. Runnables scheduled by
/// other threads, and those that overflow a ring, go through one shared queue. If fewer workers
/// have been measured to be faster, the others keep out. src/scheduler/README.md describes the
/// protocol that ensures that no work is left behind.
///
/// Threads:   schedule() from any thread; all else from the owner.
/// Invariant: a scheduled runnable gets its turn as long as at least one of max_threads turns does
///            not block forever; without a monitor, as long as no turn blocks forever.
/// Cost:      schedule() from a worker: a store, or a push to its ring; a system call only when a
///            worker sleeps and no worker is searching.
class worker_pool final : public executor {
 public:
  /// Starts one thread for each worker; `turn` runs on them. Throws std::system_error.
  worker_pool(const pool_options& options, turn_function turn);
  worker_pool(unsigned workers, turn_function turn) : worker_pool({.workers = workers}, turn) {}
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// Requires that nothing is scheduled any more, and that no turn runs forever.
  ~worker_pool();

  /// Does the work of the destructor: afterwards the pool has no threads and does not call its
  /// listener.
  void stop() noexcept;

  void schedule(runnable& r) noexcept override;
  /// For threads outside of the pool: schedules a short turn that can wait as long as another turn
  /// takes. A running worker takes it soon, and the turn may leave data in the cache of that worker
  /// for the turns there. Wakes a worker only if none runs.
  void schedule_for_the_running(runnable& r) noexcept;
  /// Wakes a worker for a runnable scheduled that way that has waited for too long.
  void wake_for_the_injected() noexcept {
    if (has_injected()) wake_one_if_needed();
  }
  /// Within a turn that has used up its messages: schedules after the runnables waiting here.
  void schedule_behind(runnable& r) noexcept override;

  /// From now on `turn` runs all turns scheduled afterwards, and maybe earlier ones.
  void gives_turns_by(turn_function turn) noexcept;

  /// Another thread runs the runnables waiting here; if max_threads are reached, the other workers
  /// do. False if neither is possible: the turns of all other workers are also between will_block()
  /// and has_blocked().
  bool will_block() noexcept override;
  void has_blocked() noexcept override;

  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] unsigned parked() const noexcept;

  /// The number of workers that may run at the moment: fewer than size() where that has been
  /// measured to be faster.
  [[nodiscard]] unsigned limit() const noexcept { return limit_.now(); }

  struct population {
    unsigned threads = 0;            // gauge
    unsigned resting = 0;            // gauge: threads without a worker
    std::uint64_t replacements = 0;  // workers taken over by another thread
    std::uint64_t refused = 0;       // takeovers that failed because of max_threads
  };
  [[nodiscard]] population threads() const noexcept;

  /// Calls look() with the counters of each thread.
  void for_each_activity(const std::function<void(const activity&)>& look) const;

  /// True on a thread of this pool.
  [[nodiscard]] bool is_current() const noexcept;

 private:
  friend class pool_monitor;
  friend class schedule_batch;
  friend class worker;
  friend class worker_thread;

  // The numbers of searching and of parked workers, in one word so that both are read at once.
  struct census {
    static constexpr std::uint64_t one_parked = 1;
    static constexpr std::uint64_t one_searching = std::uint64_t{1} << 32;
    static std::uint32_t parked(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
    static std::uint32_t searching(std::uint64_t word) {
      return static_cast<std::uint32_t>(word >> 32);
    }
  };

  [[gnu::noinline]] void inject(runnable& r) noexcept;
  void inject(runnable* const* some, std::size_t count) noexcept;
  void inject(runnable_list some, std::size_t count) noexcept;
  runnable* take_injected() noexcept;
  template <class Keep>
  runnable* take_injected(std::size_t most, Keep&& keep) noexcept;

  // Bits of asleep_: threads that usually check the workers periodically but now sleep without a
  // deadline.
  struct sleeper {
    static constexpr unsigned monitor = 1;
    static constexpr unsigned lookout = 2;
  };

  // [injected] relaxed: a check before the lock; a worker that goes to sleep checks again ([idle]).
  [[nodiscard]] bool has_injected() const noexcept { return injected_count_.load(relaxed) != 0; }

  void wake_one_if_needed() noexcept;
  void wake_parked() noexcept;
  bool try_search() noexcept;
  void stop_searching() noexcept;
  bool register_parked(worker& w, bool searching, bool may_look_out) noexcept;
  bool withdraw_parked(worker& w) noexcept;
  [[nodiscard]] bool work_in_sight() const noexcept;
  [[nodiscard]] bool needs_me(bool keeps_out) const noexcept;
  [[nodiscard]] unsigned running() const noexcept;
  [[nodiscard]] std::uint64_t steps_done() const noexcept;
  [[nodiscard]] std::uint64_t turns_begun() const noexcept;
  bool try_step_back() noexcept;
  [[nodiscard]] bool are_all_parked() const noexcept;
  void wake_monitor() noexcept;
  void wake_monitor_if_asleep() noexcept {
    // [monitor-sleeps] seq_cst: see pool_monitor.cpp
    if ((asleep_.load(seq_cst) & sleeper::monitor) != 0) [[unlikely]]
      wake_monitor();
  }
  // Called by a worker that has filled its slot and found that one of these threads sleeps.
  [[gnu::noinline]] void wake_sleepers() noexcept;
  void wake_lookout() noexcept;
  void wake(worker& parked) noexcept;
  void is_off_the_list(worker& parked) noexcept;
  bool lookout_may_doze(worker& w) noexcept;
  void lookout_is_awake(const worker& w) noexcept;
  [[nodiscard]] bool is_anything_in_a_slot() const noexcept;
  void another_looks_out() noexcept;
  runnable* take_from_slot(worker& w) noexcept;
  [[nodiscard]] bool is_stopping() const noexcept;

  worker_thread* thread_to_spare() noexcept;
  [[nodiscard]] bool does_any_worker_run() const noexcept;
  bool replace(worker& w, worker_thread& by, duration lasted, bool is_told) noexcept;
  void tell(const stuck_turn& why, bool grew) const noexcept;
  [[nodiscard]] unsigned threads_there() const noexcept;
  [[nodiscard]] std::string thread_name(std::string_view which) const;
  void pin_here(const worker& w) const noexcept;
  bool rests(worker_thread& t) noexcept;
  bool try_retire(worker_thread& t) noexcept;
  template <class Look>
  void for_each_thread(Look&& look) const noexcept;

  template <class Push>
  void schedule(runnable& r, Push&& push) noexcept;

  const unsigned max_threads_;
  const std::size_t turn_messages_;
  const unsigned search_rounds_;
  const std::int64_t settles_at_;
  pool_listener* const listener_;
  const std::string name_;
  const thread_traits traits_;
  timeline* const timeline_;
  std::vector<std::unique_ptr<worker>> workers_;

  // Read at each local wake-up, and changed only when the pool becomes idle or busy. No data that
  // changes more often is on this cache line.
  alignas(cache_line_bytes) atomic<unsigned> asleep_{0};
  atomic<bool> stopping_{false};

  alignas(cache_line_bytes) atomic<std::uint64_t> census_{0};
  atomic<bool> watched_{false};  // a parked worker watches the progress of the others

  alignas(cache_line_bytes) worker_limit limit_;

  // Read after each turn that leaves the worker without waiting runnables.
  alignas(cache_line_bytes) atomic<std::size_t> injected_count_{0};
  atomic<bool> injected_is_short_{false};  // it holds only runnables of schedule_for_the_running()

  // Guards injected_; changes of the two members above also need it.
  alignas(cache_line_bytes) mutex injected_mutex_;
  runnable_list injected_;

  // Guards what follows, and changes of the assignment of workers to threads.
  alignas(cache_line_bytes) mutable mutex threads_mutex_;
  // max_threads_ entries; the first thread_count_ are set, and stay.
  std::vector<std::unique_ptr<worker_thread>> threads_;
  atomic<std::size_t> thread_count_{0};  // how many of these exist
  std::vector<worker_thread*> resting_;  // without a worker, the most recent one last
  std::vector<worker_thread*> retired_;  // their threads have ended or are about to
  std::size_t gone_ = 0;  // their number, plus those currently reporting that they retire
  std::uint64_t replacements_ = 0;
  std::uint64_t refused_ = 0;

  // Guards what follows, and changes of census_.parked.
  alignas(cache_line_bytes) mutex parked_mutex_;
  std::vector<worker*> parked_workers_;
  worker* lookout_ = nullptr;  // one of them, and the first, so that it is woken last

  const std::unique_ptr<pool_monitor> monitor_;
};

/// Returns one runnable, or nullptr, and passes the rest of the caller's fair share to keep(). The
/// caller gets at most `most` runnables in all.
template <class Keep>
runnable* worker_pool::take_injected(std::size_t most, Keep&& keep) noexcept {
  if (!has_injected()) return nullptr;
  const std::lock_guard lock(injected_mutex_);
  const std::size_t there = injected_count_.load(relaxed);  // [injected] relaxed: under the lock
  const std::size_t share = std::min({there, most, there / limit_.now() + 1});
  runnable* const first = injected_.pop();
  if (first == nullptr) return nullptr;
  for (std::size_t i = 1; i < share; ++i) keep(*injected_.pop());
  // [idle] W, seq_cst: a runnable passed to keep() is visible elsewhere before it disappears from
  // the shared queue. [spare]
  injected_count_.fetch_sub(share, seq_cst);
  return first;
}

}  // namespace troupe::detail
