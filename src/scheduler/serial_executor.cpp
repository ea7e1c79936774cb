// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/scheduler/serial_executor.hpp>

#include <mutex>

namespace troupe::detail {

void serial_executor::let_go() noexcept {
  // [serial-life] release: publishes all uses of the group. Acquire: those uses happen before its
  // destruction.
  if (references_.fetch_sub(1, acq_rel) == 1) delete this;
}

void serial_executor::schedule(runnable& r) noexcept {
  {
    // The lock is held to the end of this block: a turn from the list begins only after it is
    // released.
    const std::lock_guard lock(mutex_);
    if (is_busy_) {
      waiting_.push(r);
      if (turn_on_ != nullptr) turn_on_->is_waited_for.store(true, relaxed);  // [turn-over]
      return;
    }
    is_busy_ = true;
    // Held until the group is idle: the last turn may release the last other reference to the
    // group.
    hold();
  }
  pool_.schedule(r);
}

turn_result serial_executor::give_turn(runnable& r, turn_function turn,
                                       activity& of_thread) noexcept {
  {
    const std::lock_guard lock(mutex_);
    turn_on_ = &of_thread;
    of_thread.is_waited_for.store(!waiting_.empty(), relaxed);  // [turn-over]
  }
  const turn_result left = turn(r, of_thread);
  runnable* next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    turn_on_ = nullptr;
    of_thread.is_waited_for.store(false, relaxed);  // [turn-over]
    const bool has_more = left == turn_result::again;
    if (has_more && waiting_.empty()) return turn_result::again;
    if (has_more) waiting_.push(r);
    next = waiting_.pop();
    is_busy_ = next != nullptr;
  }
  if (next == nullptr) {
    let_go();
    return left;
  }
  // Below, `this` may be destroyed as soon as `next` is scheduled: that turn may already be over.
  if (left == turn_result::again) {
    pool_.schedule_behind(*next);
  } else {
    pool_.schedule(*next);
  }
  return turn_result::resting;
}

bool serial_executor::will_block() noexcept {
  {
    // The thread may lose its worker. The monitor then no longer asks the turn to end.
    const std::lock_guard lock(mutex_);
    if (turn_on_ != nullptr) turn_on_->ask(activity::turn_over);
  }
  return pool_.will_block();
}

}  // namespace troupe::detail
