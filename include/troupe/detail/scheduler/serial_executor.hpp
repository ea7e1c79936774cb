// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/detail/scheduler/activity.hpp>
#include <troupe/detail/scheduler/runnable.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>

namespace troupe::detail {

/// Runs its runnables one at a time on a pool or on another executor: their turns never overlap,
/// and each turn sees the effects of the previous one. Only one runnable is in the pool; the others
/// wait here, first in, first out. The pool's turn function calls give_turn().
///
/// Threads:   any; give_turn() and will_block() on a thread of the pool.
/// Invariant: while one runnable is in the pool or runs, the others are in the list; otherwise the
///            list is empty.
/// Cost:      a mutex once in schedule(), and twice in each turn.
class serial_executor final : public executor {
 public:
  /// Returned with one reference. Each runnable needs one, and so does each object that may add
  /// runnables. Destroyed with the last reference.
  [[nodiscard]] static serial_executor& make(executor& pool) { return *new serial_executor(pool); }
  serial_executor(const serial_executor&) = delete;
  serial_executor& operator=(const serial_executor&) = delete;

  void hold() noexcept {
    references_.fetch_add(1, relaxed);
  }  // [serial-life] relaxed: the caller already holds one
  void let_go() noexcept;

  void schedule(runnable& r) noexcept override;
  void retire(runnable&) noexcept override { let_go(); }
  turn_result give_turn(runnable& r, turn_function turn, activity& of_thread) noexcept override;

  /// The pool continues with other runnables, but those of this executor wait.
  bool will_block() noexcept override;
  void has_blocked() noexcept override { pool_.has_blocked(); }
  [[nodiscard]] bool is_serial() const noexcept override { return true; }
  [[nodiscard]] const executor& whose_threads() const noexcept override { return pool_; }

 private:
  explicit serial_executor(executor& pool) noexcept : pool_(pool) {}
  ~serial_executor() = default;

  executor& pool_;
  atomic<std::uint32_t> references_{1};
  mutex mutex_;  // guards what follows
  runnable_list waiting_;
  bool is_busy_ = false;         // a runnable is in the pool or runs
  activity* turn_on_ = nullptr;  // of the thread that runs this turn
};

}  // namespace troupe::detail
