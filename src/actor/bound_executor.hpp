// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <troupe/detail/scheduler/pump_executor.hpp>
#include <troupe/detail/sync/mutex.hpp>
#include <troupe/detail/sync/thread.hpp>

namespace troupe {
class pump;
}

namespace troupe::detail {

class driven_executor;
class control_block;
class runtime;

/// The implementation of a pump: the list of actors that have work, and how many are bound to it.
class bound_executor final : public pump_executor {
 public:
  explicit bound_executor(runtime& home);
  /// In a simulation: `by` schedules the actors, and no thread pumps.
  bound_executor(runtime& home, driven_executor& by);
  ~bound_executor();

  /// The executor that a placement names.
  [[nodiscard]] static bound_executor& of(pump& p) noexcept;

  std::size_t drain();
  std::size_t drain_at_most(std::size_t messages);
  std::size_t run_until_idle();
  void run_until_stopped();

  /// Pumps until `done` returns true or the deadline has passed. The caller makes sure that wake()
  /// is called whenever another thread may have made `done` true.
  template <class Done>
  bool run_until(Done&& done, const time_point* deadline) {
    for (;;) {
      drain();
      if (done()) return true;
      if (deadline != nullptr && clock::now() >= *deadline) return false;
      if (!empty()) continue;
      if (deadline == nullptr) {
        wait();
      } else {
        (void)wait_until(*deadline);
      }
    }
  }

  [[nodiscard]] std::size_t bound() const noexcept;  // actors that have not terminated
  void actor_bound() noexcept;
  void schedule(runnable& r) noexcept override;
  void retire(runnable& r) noexcept override;

  /// Whether `thread` is the one that pumps; false in a simulation.
  [[nodiscard]] bool is_pumped_by(thread_id thread) const noexcept {
    return by_ == nullptr && thread_ == thread;
  }
  [[nodiscard]] runtime& home() const noexcept { return home_; }

 private:
  void check_caller() const;

  runtime& home_;
  driven_executor* const by_ = nullptr;  // null: a thread pumps
  const thread_id thread_;
  mutable mutex bound_mutex_;  // guards bound_
  std::size_t bound_ = 0;
};

}  // namespace troupe::detail
