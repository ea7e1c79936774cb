// SPDX-License-Identifier: Apache-2.0
#include "answer_slot.hpp"

#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <troupe/detail/memory/pool.hpp>

#include "bound_executor.hpp"
#include "runtime.hpp"

namespace troupe::detail {

answer_slot& answer_slot::make(runtime& home) {
  return *::new (pool_allocate(sizeof(answer_slot), alignof(answer_slot))) answer_slot(home);
}

void answer_slot::let_go() noexcept {
  // [answer-slot] acq_rel: everything the other holder did with it happens before it is destroyed.
  if (holders_.fetch_sub(1, acq_rel) != 1) return;
  std::destroy_at(this);
  pool_release(this, sizeof(answer_slot), alignof(answer_slot));
}

void answer_slot::answer(request& with) noexcept {
  request* not_wanted = nullptr;
  request* sent_on = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (onwards_) {
      with.from = *onwards_;
      sent_on = &with;
    } else if (left_) {
      not_wanted = &with;
    } else {
      answer_ = &with;
      // Under the mutex: a requester that waits with a pump must take the mutex before it may
      // destroy the pump.
      if (pump_ != nullptr) pump_->wake();
      parker_.notify();
    }
  }
  if (sent_on != nullptr) bring_answer(*sent_on);
  if (not_wanted != nullptr) {
    home_.count_late_answer();
    not_wanted->how->discard(*not_wanted);
  }
  let_go();
}

request* answer_slot::look() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(answer_, nullptr);
}

void answer_slot::wakes(bound_executor* pump) noexcept {
  const std::lock_guard lock(mutex_);
  pump_ = pump;
}

void answer_slot::sleep(time_point until) noexcept {
  if (until == time_point::max()) {
    parker_.park();
  } else {
    (void)parker_.park_until(until);
  }
}

request* answer_slot::redirect(const asker& to) noexcept {
  request* here = nullptr;
  {
    const std::lock_guard lock(mutex_);
    onwards_ = to;
    here = std::exchange(answer_, nullptr);
  }
  let_go();
  return here;
}

void answer_slot::leave() noexcept {
  request* here = nullptr;
  {
    const std::lock_guard lock(mutex_);
    left_ = true;
    here = std::exchange(answer_, nullptr);
  }
  if (here != nullptr) here->how->discard(*here);
  let_go();
}

}  // namespace troupe::detail
