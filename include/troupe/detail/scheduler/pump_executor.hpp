// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include <troupe/detail/scheduler/runnable.hpp>
#include <troupe/detail/scheduler/timeline.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/parker.hpp>

namespace troupe::detail {

/// Collects scheduled runnables until a thread pumps, that is, runs their turns.
///
/// Threads: schedule() and wake() from any thread; all else from the pumping thread.
/// Cost:    schedule(): a mutex, and the wake-up callback if the list was empty.
class pump_executor : public executor {
 public:
  /// `draws`: the timeline to record to, or null. Throws std::bad_alloc if it is not null.
  explicit pump_executor(std::int64_t settles_at = activity::never, timeline* draws = nullptr)
      : activity_(settles_at) {
    if (draws != nullptr) lane_ = draws->open("pump", activity_);
    activity_.lane = lane_.get();
  }
  pump_executor(const pump_executor&) = delete;
  pump_executor& operator=(const pump_executor&) = delete;

  void schedule(runnable& r) noexcept override {
    // Everything under the lock: the pumping thread must take the lock to see `r`, and may then
    // terminate `r` and with it this executor. It also lets on_wakeup() wait for the end of a
    // running callback.
    const std::lock_guard lock(mutex_);
    const bool was_empty = scheduled_.empty();
    scheduled_.push(r);
    if (was_empty) announce();
  }

  /// Takes everything scheduled so far; later calls of schedule() start a new list.
  [[nodiscard]] runnable_list take() noexcept {
    const std::lock_guard lock(mutex_);
    return std::exchange(scheduled_, {});
  }

  /// Returns taken runnables that were not run; they stay first in line.
  void put_back(runnable_list those) noexcept {
    if (those.empty()) return;
    const std::lock_guard lock(mutex_);
    const bool was_empty = scheduled_.empty();
    scheduled_.push_front(those);
    if (was_empty) announce();
  }

  [[nodiscard]] bool empty() const noexcept {
    const std::lock_guard lock(mutex_);
    return scheduled_.empty();
  }

  /// When this returns, the previous callback is not running and will not be called again.
  void on_wakeup(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    wakeup_ = std::move(callback);
    if (wakeup_ && !scheduled_.empty()) wakeup_();
  }

  /// Sleeps until a runnable is scheduled or wake() is called.
  void wait() noexcept { parker_.park(); }
  [[nodiscard]] bool wait_until(time_point deadline) noexcept {
    return parker_.park_until(deadline);
  }
  void wake() noexcept { parker_.notify(); }

  [[nodiscard]] activity& done() noexcept { return activity_; }

  /// Exists while turns run. Used by the pumping thread.
  class pumping {
   public:
    explicit pumping(pump_executor& with) noexcept : lane_(with.lane_.get()) {
      if (lane_ != nullptr) lane_->begins(timeline_slice::kind::running);
    }
    pumping(const pumping&) = delete;
    pumping& operator=(const pumping&) = delete;
    ~pumping() {
      if (lane_ != nullptr) lane_->begins(timeline_slice::kind::away);
    }

   private:
    timeline_lane* const lane_;
  };

 protected:
  ~pump_executor() = default;

 private:
  void announce() noexcept {
    if (wakeup_) wakeup_();
    parker_.notify();
  }

  mutable mutex mutex_;  // guards scheduled_ and wakeup_
  runnable_list scheduled_;
  std::function<void()> wakeup_;
  parker parker_;
  activity activity_;
  timeline::lane lane_;  // null: no timeline
};

}  // namespace troupe::detail
