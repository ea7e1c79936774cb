// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/scheduler/activity.hpp>
#include <troupe/scheduler/runnable.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::detail {

/// Runnables of which one at a time has a place in a pool, or in another executor: their turns never overlap, and each sees what the one
/// before it did. The others wait here, first in, first out. Who gives the turns calls give_turn().
///
/// Threads:   any; give_turn() and will_block() on a thread of the pool, give_turn() by the pool's turn function.
/// Invariant: while one is in the pool or has its turn, the others are in the list; else that is empty.
/// Cost:      a mutex in schedule(), and twice in each turn.
class serial_executor final : public executor {
 public:
  /// With one reference: one for each runnable, and for each who may bring one. It ends with the last.
  [[nodiscard]] static serial_executor& make(executor& pool) { return *new serial_executor(pool); }
  serial_executor(const serial_executor&) = delete;
  serial_executor& operator=(const serial_executor&) = delete;

  void hold() noexcept {
    references_.fetch_add(1, relaxed);
  }  // [serial-life] who holds one adds it
  void let_go() noexcept;

  void schedule(runnable& r) noexcept override;
  void retire(runnable&) noexcept override { let_go(); }
  turn_result give_turn(runnable& r, turn_function turn, activity& of_thread) noexcept override;

  /// The pool goes on, the others here do not.
  bool will_block() noexcept override;
  [[nodiscard]] bool is_serial() const noexcept override { return true; }
  [[nodiscard]] const executor& whose_threads() const noexcept override { return pool_; }

 private:
  explicit serial_executor(executor& pool) noexcept : pool_(pool) {}
  ~serial_executor() = default;

  executor& pool_;
  atomic<std::uint32_t> references_{1};
  mutex mutex_;  // guards what follows
  runnable_list waiting_;
  bool is_busy_ = false;         // one of them is in the pool, or has its turn
  activity* turn_on_ = nullptr;  // of the thread on which that turn is
};

}  // namespace troupe::detail
