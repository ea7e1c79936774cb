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

/// A turn that lasted while others waited for theirs; another thread goes on with its worker.
struct stuck_turn {
  const runnable* whose;  // only its address: the turn may be over
  duration lasted;        // about; zero if it has said itself that it is about to block
  unsigned threads;       // of the pool from now on
};

/// Is told when a pool grows and shrinks: on the thread that looks after the turns, on that of a turn that will
/// block, or on one that ends. No call may block.
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
  unsigned max_threads = 512;  // as many as workers at the least, and not more than most_threads
  duration stuck_after{};      // zero: only turns that say so themselves give their workers away
  std::size_t turn_messages = tuning::turn_messages;
  unsigned search_rounds = tuning::search_rounds;
  std::int64_t settles_at = activity::never;
  pool_listener* listener = nullptr;
  std::string name = "troupe";  // of the threads, before their number
  thread_traits threads = {};   // with as many CPUs as workers each worker has its own one
  timeline* draws = nullptr;    // what its threads do; null: nobody wants to know
};

/// Gives turns on as many workers as it was made with. Each has a thread; who is in a turn for too long
/// loses its worker to another thread, so that what waits there goes on.
///
/// What a worker's own turn wakes goes to that worker's private slot, and from there to its ring
/// when the next one is woken, so that actors who talk to each other stay on one core while there
/// is nothing else to do. Workers without work take half of another's ring. What comes from foreign
/// threads, and what overflows a ring, goes through one shared queue. Where fewer workers have been
/// measured to do more, the others keep out. src/scheduler/README.md has the protocol by which no
/// work is left behind.
///
/// Threads:   schedule() from anywhere; the rest from the owner.
/// Invariant: a runnable that was scheduled gets its turn, while of max_threads turns one does not block for ever; or,
///            with nobody looking after them, while none blocks.
/// Cost:      schedule() from a worker: a store, or a push to its ring; a system call only when a
///            worker sleeps and none is searching.
class worker_pool final : public executor {
 public:
  /// Starts as many threads as workers; `turn` runs on them. Throws std::system_error.
  worker_pool(const pool_options& options, turn_function turn);
  worker_pool(unsigned workers, turn_function turn) : worker_pool({.workers = workers}, turn) {}
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// Nothing may be scheduled any more, and no turn may be running for ever.
  ~worker_pool();

  /// What the destructor does: afterwards it has no threads, and its listener is told nothing.
  void stop() noexcept;

  void schedule(runnable& r) noexcept override;
  /// From a foreign thread, for a short turn that can wait as long as another one lasts: whoever runs comes by it, in
  /// whose cache it may leave something for the turns there. Wakes a worker only if none runs.
  void schedule_for_the_running(runnable& r) noexcept;
  /// For that, if it has waited for too long.
  void wake_for_the_injected() noexcept {
    if (has_injected()) wake_one_if_needed();
  }
  /// Within a turn that was used up: behind those that wait here.
  void schedule_behind(runnable& r) noexcept override;

  /// From now on this one runs all turns that are scheduled afterwards, and maybe others.
  void gives_turns_by(turn_function turn) noexcept;

  /// Another thread goes on with what waits here, or with max_threads the other workers do. False if there is
  /// neither.
  bool will_block() noexcept override;

  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] unsigned parked() const noexcept;

  /// How many workers may run at the moment: fewer than there are where that has been measured to
  /// be faster.
  [[nodiscard]] unsigned limit() const noexcept { return limit_.now(); }

  struct population {
    unsigned threads = 0;            // gauge
    unsigned resting = 0;            // gauge: of these, have no worker at the moment
    std::uint64_t replacements = 0;  // workers that went from one thread to another
    std::uint64_t refused = 0;       // that did not, since there are max_threads
  };
  [[nodiscard]] population threads() const noexcept;

  /// What each thread has done so far.
  void for_each_activity(const std::function<void(const activity&)>& look) const;

  /// True on a thread of this pool.
  [[nodiscard]] bool is_current() const noexcept;

 private:
  friend class pool_monitor;
  friend class schedule_batch;
  friend class worker;
  friend class worker_thread;

  // How many workers search for work, and how many are parked, in one word so that both are seen
  // at once.
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

  // [injected] relaxed: a look before the lock; who goes to sleep looks again ([idle]).
  [[nodiscard]] bool has_injected() const noexcept { return injected_count_.load(relaxed) != 0; }

  void wake_one_if_needed() noexcept;
  void wake_parked() noexcept;
  bool try_search() noexcept;
  void stop_searching() noexcept;
  void register_parked(worker& w, bool searching) noexcept;
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
    if (monitor_sleeps_.load(seq_cst))
        [[unlikely]]  // [monitor-sleeps] seq_cst: see pool_monitor.cpp
      wake_monitor();
  }
  [[nodiscard]] bool is_stopping() const noexcept;

  worker_thread* thread_to_spare() noexcept;
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

  alignas(cache_line_bytes) atomic<std::uint64_t> census_{0};
  atomic<bool> stopping_{false};
  atomic<bool> monitor_sleeps_{false};
  atomic<bool> watched_{false};  // one of the parked looks now and then whether the others get on

  worker_limit limit_;

  alignas(cache_line_bytes) atomic<std::size_t> injected_count_{0};
  atomic<bool> injected_is_short_{false};  // nothing else is there
  mutex injected_mutex_;                   // guards injected_; the two before change under it
  runnable_list injected_;

  mutable mutex threads_mutex_;  // guards what follows; and who has which worker changes under it
  std::vector<std::unique_ptr<worker_thread>>
      threads_;                          // max_threads_; the first are there, and stay
  atomic<std::size_t> thread_count_{0};  // so many of these
  std::vector<worker_thread*> resting_;  // without a worker; the last one has rested least
  std::vector<worker_thread*> retired_;  // their threads have ended, or are about to
  std::size_t gone_ = 0;                 // as many, and those that tell that they retire
  std::uint64_t replacements_ = 0;
  std::uint64_t refused_ = 0;

  mutex parked_mutex_;  // guards parked_workers_; census_.parked changes under it
  std::vector<worker*> parked_workers_;

  const std::unique_ptr<pool_monitor> monitor_;
};

/// Returns one runnable, or nullptr, and hands the caller's fair share of the rest to keep(), so
/// that he takes `most` at the most.
template <class Keep>
runnable* worker_pool::take_injected(std::size_t most, Keep&& keep) noexcept {
  if (!has_injected()) return nullptr;
  const std::lock_guard lock(injected_mutex_);
  const std::size_t there = injected_count_.load(relaxed);  // [injected] relaxed: under the lock
  const std::size_t share = std::min({there, most, there / limit_.now() + 1});
  runnable* const first = injected_.pop();
  if (first == nullptr) return nullptr;
  for (std::size_t i = 1; i < share; ++i) keep(*injected_.pop());
  // [idle] W, seq_cst: what was kept is in sight elsewhere before it is out of sight here. [spare]
  injected_count_.fetch_sub(share, seq_cst);
  return first;
}

}  // namespace troupe::detail
