// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <troupe/base/cache_line.hpp>
#include <troupe/scheduler/runnable.hpp>
#include <troupe/scheduler/worker_limit.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::detail {

class worker;

/// Gives turns on a fixed number of threads.
///
/// What a worker's own turn wakes goes to that worker's private slot, and from there to its ring
/// when the next one is woken, so that actors who talk to each other stay on one core while there
/// is nothing else to do. Workers without work take half of another's ring. What comes from foreign
/// threads, and what overflows a ring, goes through one shared queue. Where fewer workers have been
/// measured to do more, the others keep out. src/scheduler/README.md has the protocol by which no
/// work is left behind.
///
/// Threads:   schedule() from anywhere; the rest from the owner.
/// Invariant: a runnable that was scheduled gets its turn, while no turn blocks its worker for ever.
/// Cost:      schedule() from a worker: a store, or a push to its ring; a system call only when a
///            worker sleeps and none is searching.
class worker_pool final : public executor {
 public:
  /// Starts `workers` threads; `turn` runs on them.
  worker_pool(unsigned workers, turn_function turn, std::int64_t settles_at = activity::never);
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// Nothing may be scheduled any more, and no turn may be running for ever.
  ~worker_pool();

  void schedule(runnable& r) noexcept override;
  bool will_block() noexcept override;

  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] unsigned parked() const noexcept;

  /// How many workers may run at the moment: fewer than there are where that has been measured to
  /// be faster.
  [[nodiscard]] unsigned limit() const noexcept { return limit_.now(); }

  /// What each worker has done so far.
  void for_each_activity(const std::function<void(const activity&)>& look) const;

  /// True on a thread of this pool.
  [[nodiscard]] bool is_current() const noexcept;

 private:
  friend class worker;

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

  void stop() noexcept;
  void inject(runnable& r) noexcept;
  void inject(runnable* const* some, std::size_t count) noexcept;
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

  const turn_function turn_;
  std::vector<std::unique_ptr<worker>> workers_;

  alignas(cache_line_bytes) atomic<std::uint64_t> census_{0};
  atomic<bool> stopping_{false};
  atomic<bool> watched_{false};  // one of the parked looks now and then whether the others get on

  worker_limit limit_;

  alignas(cache_line_bytes) atomic<std::size_t> injected_count_{0};
  mutex injected_mutex_;  // guards injected_; injected_count_ changes under it
  runnable_list injected_;

  mutex parked_mutex_;  // guards parked_workers_; census_.parked changes under it
  std::vector<worker*> parked_workers_;
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
