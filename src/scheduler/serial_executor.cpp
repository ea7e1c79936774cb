// SPDX-License-Identifier: Apache-2.0
#include <troupe/scheduler/serial_executor.hpp>

#include <mutex>

namespace troupe::detail {

void serial_executor::let_go() noexcept {
  // [serial-life] release: what was done with it; acquire: all of that comes before its end.
  if (references_.fetch_sub(1, acq_rel) == 1) delete this;
}

void serial_executor::schedule(runnable& r) noexcept {
  {
    // Under the lock until the end: the turn of who is in the list begins behind it.
    const std::lock_guard lock(mutex_);
    if (is_busy_) {
      waiting_.push(r);
      if (turn_on_ != nullptr) turn_on_->is_waited_for.store(true, relaxed);  // [turn-over]
      return;
    }
    is_busy_ = true;
    hold();  // until it is not busy any more: the last one to have a turn lets go of its own reference in it
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
  // From here on this may be gone: the next turn may be over.
  if (left == turn_result::again) {
    pool_.schedule_behind(*next);
  } else {
    pool_.schedule(*next);
  }
  return turn_result::resting;
}

bool serial_executor::will_block() noexcept {
  {
    // Its thread may lose its worker, and is then told no more that the turn has lasted.
    const std::lock_guard lock(mutex_);
    if (turn_on_ != nullptr) turn_on_->ask(activity::turn_over);
  }
  return pool_.will_block();
}

}  // namespace troupe::detail
