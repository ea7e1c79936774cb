// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include <troupe/scheduler/runnable.hpp>
#include <troupe/scheduler/timeline.hpp>
#include <troupe/sync/mutex.hpp>
#include <troupe/sync/parker.hpp>

namespace troupe::detail {

/// Collects what has work until somebody comes to give it turns.
///
/// Threads: schedule() and wake() from anywhere; the rest from the thread that pumps.
/// Cost:    schedule(): a mutex, and the wake-up callback if the list was empty.
class pump_executor : public executor {
 public:
  /// `draws`: what is done with it; null: nobody wants to know. Throws std::bad_alloc if it is not null.
  explicit pump_executor(std::int64_t settles_at = activity::never, timeline* draws = nullptr)
      : activity_(settles_at) {
    if (draws != nullptr) lane_ = draws->open("pump", activity_);
    activity_.lane = lane_.get();
  }
  pump_executor(const pump_executor&) = delete;
  pump_executor& operator=(const pump_executor&) = delete;

  void schedule(runnable& r) noexcept override {
    // All of it under the lock: who pumps must take the lock to see `r`, and may then end it and
    // this executor with it; and on_wakeup() can say when the last callback is over.
    const std::lock_guard lock(mutex_);
    const bool was_empty = scheduled_.empty();
    scheduled_.push(r);
    if (was_empty) announce();
  }

  /// Everything scheduled so far; what comes later makes a new list.
  [[nodiscard]] runnable_list take() noexcept {
    const std::lock_guard lock(mutex_);
    return std::exchange(scheduled_, {});
  }

  /// What was taken and got no turn: it stays first in line.
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

  /// When this returns, the callback that was set before is neither running nor called any more.
  void on_wakeup(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    wakeup_ = std::move(callback);
    if (wakeup_ && !scheduled_.empty()) wakeup_();
  }

  /// Sleeps until something is scheduled or wake() is called.
  void wait() noexcept { parker_.park(); }
  [[nodiscard]] bool wait_until(time_point deadline) noexcept {
    return parker_.park_until(deadline);
  }
  void wake() noexcept { parker_.notify(); }

  [[nodiscard]] activity& done() noexcept { return activity_; }

  /// While turns are given. By the thread that pumps.
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
  timeline::lane lane_;  // null: there is no timeline
};

}  // namespace troupe::detail
