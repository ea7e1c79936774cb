// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <troupe/scheduler/runnable.hpp>
#include <troupe/scheduler/timeline.hpp>
#include <troupe/sync/atomic.hpp>
#include <troupe/sync/parker.hpp>
#include <troupe/sync/thread.hpp>

namespace troupe::detail {

/// One thread for one runnable: it may block as long as it likes without holding up another.
///
/// Threads: schedule() from anywhere; start(), finished() and the destructor from the owner.
class thread_executor final : public executor {
 public:
  /// `draws`: what the thread does; null: nobody wants to know.
  explicit thread_executor(turn_function turn, std::int64_t settles_at = activity::never,
                           timeline* draws = nullptr) noexcept
      : turn_(turn), timeline_(draws), activity_(settles_at) {}
  thread_executor(const thread_executor&) = delete;
  thread_executor& operator=(const thread_executor&) = delete;

  /// Waits for the thread, which ends with its runnable.
  ~thread_executor();

  /// Starts the thread; `name` is for debuggers. Throws std::system_error if there can be none, and
  /// std::bad_alloc.
  void start(runnable& r, std::string name);

  void schedule(runnable& r) noexcept override;

  /// Ends the thread also if the runnable never got a turn.
  void retire(runnable& r) noexcept override;

  [[nodiscard]] bool may_block() const noexcept override { return true; }

  /// True once the runnable has ended; the destructor then does not wait.
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
  timeline::lane lane_;  // null: there is no timeline
  parker parker_;        // its token says: scheduled
  atomic<bool> retired_{false};
  atomic<bool> finished_{false};
  thread thread_;
};

}  // namespace troupe::detail
