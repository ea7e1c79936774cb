// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <checker/check.hpp>
#include <functional>
#include <troupe/scheduler/runnable.hpp>
#include <troupe/sync/parker.hpp>

// The tasks that the checks of pools schedule.

namespace troupe::detail {

// Runs once, then notifies the waiter.
struct pool_task : runnable {
  model::plain<int> turns{0};
  parker* done = nullptr;
  std::function<void()> also;
};

inline turn_result turn(runnable& r, activity& of_thread) noexcept {
  of_thread.turns.add(1);
  auto& one = static_cast<pool_task&>(r);
  one.turns = one.turns + 1;
  if (one.also) one.also();
  if (one.done != nullptr) one.done->notify();
  return turn_result::ended;
}

}  // namespace troupe::detail
