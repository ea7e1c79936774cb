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

/// Looks now and then, while turns are given, whether one of them lasts while others wait for theirs. First that
/// turn is told to end behind the message that it handles; if it does not, and its thread blocks or computes,
/// another thread goes on with the worker.
///
/// Threads: wake() from any; start() and stop() from the pool's owner.
/// Cost:    a thread that looks four times in the time given. When no worker has run for forty looks it sleeps until one
///          leaves work to another one.
class pool_monitor {
 public:
  explicit pool_monitor(worker_pool& pool) noexcept : pool_(pool) {}

  /// Whoever is in one handler for longer is stuck. Zero: nobody is looked after. Throws std::system_error.
  void start(duration stuck_after);
  void stop() noexcept;

  /// By whoever leaves work to a worker that runs, and finds worker_pool::monitor_sleeps_.
  void wake() noexcept;

 private:
  struct turn_seen {
    const worker_thread* by = nullptr;
    std::uint64_t number = 0;
    unsigned looks = 0;    // since
    unsigned waited = 0;   // so many looks in a row others have waited
    time_point first{};    // of these looks
    duration cpu_time{};   // of the thread, by then
    bool is_told = false;  // that no other thread could be had
  };

  void run() noexcept;
  void look() noexcept;
  void look_at(worker& one, turn_seen& seen, bool behind, bool elsewhere) noexcept;
  void sleep_while_nobody_runs() noexcept;

  worker_pool& pool_;
  duration stuck_after_{};
  std::vector<turn_seen> seen_;  // of each worker
  unsigned looks_without_turns_ = 0;
  parker parker_;
  thread thread_;
};

}  // namespace troupe::detail
