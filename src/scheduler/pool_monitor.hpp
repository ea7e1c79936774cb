// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/thread.hpp>

namespace troupe::detail {

class worker;
class worker_pool;
class worker_thread;

/// Detects turns that run for a long time while other runnables wait, and moves their worker to
/// another thread.
///
/// The monitor samples the pool while turns run. A long turn is first asked to end after the
/// message that it handles. If it does not, and its thread blocks or computes, another thread takes
/// over the worker.
///
/// Threads: wake() from any thread; start() and stop() from the pool's owner.
/// Cost:    one thread that takes four samples per `blocking_threshold`. When no worker has run for forty
///          samples, it sleeps until a worker leaves work to another one.
class pool_monitor {
 public:
  explicit pool_monitor(worker_pool& pool) noexcept : pool_(pool) {}

  /// Starts the monitor thread. A handler that runs for longer than `blocking_threshold` counts as stuck;
  /// zero disables the monitor. Throws std::system_error.
  void start(duration blocking_threshold);
  void stop() noexcept;

  /// Wakes the monitor. Called by a thread that leaves work to a running worker and finds in
  /// worker_pool::asleep_ that the monitor sleeps.
  void wake() noexcept;

 private:
  struct turn_seen {
    const worker_thread* by = nullptr;
    std::uint64_t number = 0;
    unsigned looks = 0;    // samples of this turn since the first
    unsigned waited = 0;   // consecutive samples in which others waited
    time_point first{};    // when the first sample was taken
    duration cpu_time{};   // of the thread, at the first sample
    bool is_told = false;  // the listener knows that no other thread was available
  };

  void run() noexcept;
  void look() noexcept;
  void look_at(worker& one, turn_seen& seen, bool behind, bool elsewhere) noexcept;
  void sleep_while_nobody_runs() noexcept;
  bool is_awake_now() noexcept;

  worker_pool& pool_;
  duration stuck_after_{};
  std::vector<turn_seen> seen_;  // one entry per worker
  unsigned looks_without_turns_ = 0;
  parker parker_;
  thread thread_;
};

}  // namespace troupe::detail
