// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include <troupe/base/cache_line.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/scheduler/hill_climber.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/mutex.hpp>

namespace troupe::detail {

/// How many workers of a pool may run at the moment.
///
/// Threads: any.
/// Cost:    now(): a load. look(): reading the clock, and a try_lock() that nobody waits for.
class worker_limit {
 public:
  explicit worker_limit(unsigned workers) noexcept
      : workers_(workers), limit_(workers), climber_(workers) {}

  [[nodiscard]] unsigned now() const noexcept {
    return limit_.load(relaxed);  // [worker-limit] relaxed: only a limit; it may be missed by a few
  }

  /// Measures, and maybe decides anew. `steps()` is what all workers have done so far; so many of
  /// them are running.
  template <class Steps>
  void look(Steps&& steps, unsigned running) noexcept {
    if (workers_ == 1) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;  // somebody else does it
    // [worker-limit] relaxed: all that matters is under the mutex.
    if (interrupted_.load(relaxed)) {
      interrupted_.store(false, relaxed);
      climber_.interrupt();
    }
    const time_point now = clock::now();
    if (now < climber_.next_look()) return;
    climber_.look(now, steps(), running);
    limit_.store(climber_.limit(), relaxed);
  }

  /// What has been counted says nothing any more: all may run, and counting begins anew.
  void interrupt() noexcept {
    // [worker-limit] relaxed: a look that goes on meanwhile may overwrite the limit; the next call
    // mends that, and the next look finds the flag.
    if (interrupted_.load(relaxed) && limit_.load(relaxed) == workers_) return;
    interrupted_.store(true, relaxed);
    limit_.store(workers_, relaxed);
  }

 private:
  const unsigned workers_;
  atomic<unsigned> limit_;
  atomic<bool> interrupted_{true};
  alignas(cache_line_bytes) mutex mutex_;  // guards climber_
  hill_climber climber_;
};

}  // namespace troupe::detail
