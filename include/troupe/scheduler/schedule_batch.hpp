// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <troupe/scheduler/runnable.hpp>

namespace troupe::detail {

class worker_pool;

/// What a thread that is none of a pool's schedules there, brought together: one visit to the shared
/// queue and one worker woken for all of it. Otherwise each may wake one, and where threads are more than
/// cores the woken one comes first, does the one thing that there is, and sleeps again.
///
/// Threads:   one that gives no turns of a pool. Its end on any.
/// Invariant: what is scheduled gets its turn after flush(), which the thread owes to it: it must not wait
///            for any of that before. The pool does not end before, since what waits has not.
class schedule_batch {
 public:
  /// While it is there, what this thread schedules in a pool waits in the batch. One at a time.
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
  /// flush().
  ~schedule_batch() { flush(); }

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  void flush() noexcept;

 private:
  friend class worker_pool;

  // So many are enough for workers on other cores to begin with.
  static constexpr std::size_t most = 32;

  [[nodiscard]] static schedule_batch* here() noexcept;
  void add(worker_pool& to, runnable& r) noexcept;

  worker_pool* pool_ = nullptr;  // of all that wait
  runnable_list waiting_;
  std::size_t count_ = 0;
};

}  // namespace troupe::detail
