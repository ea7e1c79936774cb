// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include <troupe/base/clock.hpp>
#include <troupe/detail/base/cache_line.hpp>
#include <troupe/detail/scheduler/hill_climber.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/mutex.hpp>

namespace troupe::detail {

/// The number of workers of a pool that may run at the moment.
///
/// Threads: any.
/// Cost:    now(): a load. look(): reading the clock, and a try_lock() when a measurement is due.
class worker_limit {
 public:
  explicit worker_limit(unsigned workers) noexcept
      : workers_(workers), limit_(workers), climber_(workers) {}

  [[nodiscard]] unsigned now() const noexcept {
    return limit_.load(relaxed);  // [worker-limit] relaxed: a limit that may be exceeded by a few
  }

  /// Measures, and may change the limit. `steps()` returns the work done so far by all workers;
  /// `running` is the number of running workers.
  template <class Steps>
  void look(Steps&& steps, unsigned running) noexcept {
    if (workers_ == 1) return;
    // [worker-limit] relaxed, all of these: hints. The decisive state is guarded by the mutex.
    const time_point now = clock::now();
    if (now.time_since_epoch() < duration(next_look_.load(relaxed)) && !interrupted_.load(relaxed))
      return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;  // another thread does it
    if (interrupted_.load(relaxed)) {
      interrupted_.store(false, relaxed);
      climber_.interrupt();
    }
    if (now >= climber_.next_look()) {
      climber_.look(now, steps(), running);
      limit_.store(climber_.limit(), relaxed);
    }
    next_look_.store(climber_.next_look().time_since_epoch().count(), relaxed);
  }

  /// Discards all measurements: all workers may run, and measuring starts again.
  void interrupt() noexcept {
    // [worker-limit] relaxed: a concurrent look() may overwrite the limit. The next call of
    // interrupt() restores it, and the next look() sees the flag.
    if (interrupted_.load(relaxed) && limit_.load(relaxed) == workers_) return;
    interrupted_.store(true, relaxed);
    limit_.store(workers_, relaxed);
  }

 private:
  // Read frequently by all workers; changed only when the limit changes.
  const unsigned workers_;
  atomic<unsigned> limit_;
  atomic<duration::rep> next_look_{0};  // since the clock's epoch
  atomic<bool> interrupted_{true};
  alignas(cache_line_bytes) mutex mutex_;  // guards climber_
  hill_climber climber_;
};

}  // namespace troupe::detail
