// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <troupe/detail/scheduler/runnable.hpp>

namespace troupe::detail {

class worker_pool;

/// Collects what a thread outside of a pool schedules there, so that all of it takes one visit to
/// the shared queue and wakes one worker. Otherwise each schedule() may wake a worker; with more
/// threads than cores, that worker preempts the caller, runs the only runnable, and sleeps again.
///
/// Threads:   a thread that runs no turns of a pool; destroyed on any thread.
/// Invariant: a collected runnable runs only after flush(), so the thread must not wait for it
///            before. The pool cannot end before, because the collected runnables have not.
class schedule_batch {
 public:
  /// While it exists, runnables that this thread schedules in a pool are collected in the batch. At
  /// most one per thread.
  class scope {
   public:
    explicit scope(schedule_batch& into) noexcept;
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope();
  };

  schedule_batch() = default;
  schedule_batch(const schedule_batch&) = delete;
  schedule_batch& operator=(const schedule_batch&) = delete;
  /// Calls flush().
  ~schedule_batch() { flush(); }

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  void flush() noexcept;

 private:
  friend class worker_pool;

  // Enough for workers on other cores to start with.
  static constexpr std::size_t most = 32;

  [[nodiscard]] static schedule_batch* here() noexcept;
  void add(worker_pool& to, runnable& r) noexcept;

  worker_pool* pool_ = nullptr;  // of all waiting runnables
  runnable_list waiting_;
  std::size_t count_ = 0;
};

}  // namespace troupe::detail
