// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <troupe/detail/scheduler/runnable.hpp>
#include <troupe/detail/scheduler/timeline.hpp>
#include <troupe/detail/sync/atomic.hpp>
#include <troupe/detail/sync/parker.hpp>
#include <troupe/detail/sync/thread.hpp>

namespace troupe::detail {

/// Runs one runnable on its own thread, where it may block without delaying others.
///
/// Threads: schedule() from any thread; start(), finished() and the destructor from the owner.
class thread_executor final : public executor {
 public:
  /// `draws`: the timeline to record to, or null.
  explicit thread_executor(turn_function turn, std::int64_t settles_at = activity::never,
                           timeline* draws = nullptr) noexcept
      : turn_(turn), timeline_(draws), activity_(settles_at) {}
  thread_executor(const thread_executor&) = delete;
  thread_executor& operator=(const thread_executor&) = delete;

  /// Joins the thread, which ends with its runnable.
  ~thread_executor();

  /// Starts the thread; `name` is shown by debuggers. Throws std::system_error if no thread can be
  /// created, and std::bad_alloc.
  void start(runnable& r, std::string name);

  void schedule(runnable& r) noexcept override;

  /// Also ends the thread of a runnable that never ran.
  void retire(runnable& r) noexcept override;

  [[nodiscard]] bool may_block() const noexcept override { return true; }

  /// True if the runnable has terminated; the destructor then does not block.
  [[nodiscard]] bool finished() const noexcept;
  [[nodiscard]] const activity& done() const noexcept { return activity_; }

 private:
  void run(runnable& r) noexcept;
  void begins(timeline_slice::kind what) noexcept {
    if (lane_ != nullptr) lane_->begins(what);
  }

  const turn_function turn_;
  timeline* const timeline_;
  activity activity_;
  timeline::lane lane_;  // null: no timeline
  parker parker_;        // its token means: scheduled
  atomic<bool> retired_{false};
  atomic<bool> finished_{false};
  thread thread_;
};

}  // namespace troupe::detail
