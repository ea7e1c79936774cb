// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <troupe/scheduler/runnable.hpp>
#include <troupe/scheduler/tuning.hpp>
#include <troupe/scheduler/worker_pool.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/thread.hpp>
#include <troupe/sync/watched.hpp>
#include <troupe/sync/work_ring.hpp>

namespace troupe::detail {

/// One thread of a pool with the work that it keeps to itself.
///
/// Threads: push() from the worker's own thread; the ring may be stolen from by the others; the
///          parker is notified by whoever takes the worker off the list of the parked.
class worker {
 public:
  worker(worker_pool& pool, unsigned index, std::int64_t settles_at) noexcept
      : pool_(pool), index_(index), random_(index), activity_(settles_at) {}

  void start();
  void join();  // if it was started

  /// All that it has goes where the others find it. From its own thread.
  void hand_over() noexcept;

  /// Takes what this worker's own turn has woken.
  void push(runnable& r) noexcept;

  [[nodiscard]] const worker_pool& pool() const noexcept { return pool_; }
  [[nodiscard]] const activity& done() const noexcept { return activity_; }
  [[nodiscard]] bool has_stealable() const noexcept { return !ring_.empty(); }
  void wake() noexcept { parker_.notify(); }

 private:
  void run();
  runnable* next() noexcept;
  runnable* take_injected() noexcept;
  runnable* find_work(bool searching) noexcept;
  void sleep(bool searched, bool keeps_out) noexcept;
  void watch() noexcept;
  [[nodiscard]] bool sees_one_stuck() noexcept;
  [[nodiscard]] bool may_take() noexcept;
  runnable* search() noexcept;
  runnable* steal() noexcept;
  void push_to_ring(runnable& r) noexcept;
  [[nodiscard]] bool alone() const noexcept;
  [[nodiscard]] bool is_time_to_look() noexcept;
  [[nodiscard]] bool are_too_many() noexcept;

  worker_pool& pool_;
  const unsigned index_;
  std::uint32_t random_;
  unsigned turns_until_look_ = tuning::injected_interval;
  unsigned slot_streak_ = 0;
  runnable* slot_ = nullptr;

  bool steps_back_ = false;         // more run than may
  bool others_seen_ = false;        // the last look at the others, while too many ran
  std::uint64_t others_turns_ = 0;  // likewise

  // What the watcher has seen of this worker; only the watcher uses them.
  watched<std::uint64_t> turns_seen_ = 0;
  watched<unsigned> stuck_for_ = 0;

  work_ring<runnable, tuning::ring_capacity> ring_;
  activity activity_;
  parker parker_;
  thread thread_;
};

}  // namespace troupe::detail
