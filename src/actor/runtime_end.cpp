// SPDX-License-Identifier: Apache-2.0
// How a system ends: who is told to stop, who waits for that, and who is left.
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime.hpp"

namespace troupe::detail {

void runtime::stop_bound_to(const bound_executor& pump) {
  for_each_actor([&](control_block& block) {
    if (&block.runs_on() != &pump) return;
    block.ends_for_good();
    block.stop_now();
  });
}

shutdown_report runtime::shutdown(duration deadline) {
  if (this_turn().running != nullptr) {
    throw std::logic_error("system::shutdown() inside a handler of " +
                           std::string(this_turn().running->name()) +
                           " would wait for itself: call it from a thread that is no actor");
  }
  const time_point began = clock::now();
  const time_point until = later(began, deadline);
  // [stopping] seq_cst: who spawns opens the slot, counts the actor, and then looks here; this thread
  // says that it stops, counts, and then looks at the slots. So a spawner that has not seen the one
  // is counted in the other, and its slot is found open.
  stopping_.store(true, seq_cst);
  const auto is_anybody_there = [this] {
    const std::lock_guard lock(mutex_);
    return count_actors().alive() != 0;
  };
  if (is_anybody_there()) {
    // Those that are supervised are stopped by their supervisors, in order.
    for_each_actor([](control_block& block) {
      if (!block.is_supervised()) block.stop();
    });
  }
  shutdown_report report;
  for (time_point limit = until; !wait_for_everybody(limit);) {
    report.stragglers = stragglers();
    if (!report.complete()) break;
    // One that is past its end but not yet off the count has a few instructions to go.
    limit = clock::now() + std::chrono::milliseconds(1);
  }
  report.waited = clock::now() - began;
  return report;
}

// False if the deadline came first.
bool runtime::wait_for_everybody(time_point deadline) {
  shutting_down_.fetch_add(1, seq_cst);  // [alive] seq_cst: see actor_ended()
  std::uint64_t left = 0;
  std::uint32_t woken = 0;
  const auto all_gone = [&] {
    const std::lock_guard lock(mutex_);
    woken = woken_.load(relaxed);  // [woken] relaxed: under the lock
    await(left = count_actors().alive());
    return left == 0;
  };
  if (bound_executor* const mine = pump_of_this_thread()) {
    (void)mine->run_until(all_gone, &deadline);
  } else {
    while (!all_gone() && !futex_wait_until(woken_, woken, deadline)) {
    }
  }
  shutting_down_.fetch_sub(1, seq_cst);  // [alive] [spare] the addition matters
  return left == 0;
}

std::vector<shutdown_report::straggler> runtime::stragglers() {
  std::vector<shutdown_report::straggler> those;
  for_each_actor([&](control_block& block) {
    if (block.in_life() == phase::ended) return;
    those.push_back({block.where(), std::string(block.name()), doing(block)});
  });
  return those;
}

std::string runtime::doing(const control_block& block) const {
  if (const dispatch* const what = block.handling()) {
    const std::string name(what->message);
    return "in " + (what->run == nullptr ? name : "on(" + name + ")");
  }
  const std::lock_guard lock(mutex_);
  for (const bound_executor* each : pumps_) {
    if (&block.runs_on() == each) return "waits for its pump, which nobody pumps";
  }
  return block.in_life() == phase::starting ? "has not started" : "waits for a turn";
}

}  // namespace troupe::detail
