// SPDX-License-Identifier: Apache-2.0
// How a system shuts down: it tells actors to stop, waits for them, and reports the stragglers.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime.hpp"

namespace troupe::detail {

namespace {

constexpr std::chrono::milliseconds between_tries{1};

}  // namespace

void runtime::stop_bound_to(const bound_executor& pump) {
  for_each_actor([&](control_block& block) {
    if (&block.runs_on() != &pump) return;
    block.ends_for_good();
    block.stop_now();
  });
}

namespace {

void must_not_be_in_handler(const char* what) {
  if (this_turn().running == nullptr) return;
  throw std::logic_error("system::" + std::string(what) + "() inside a handler of " +
                         std::string(this_turn().running->name()) +
                         " would wait for itself: call it from a thread that runs no actor");
}

}  // namespace

shutdown_report runtime::shutdown(duration deadline, backlog what) {
  must_not_be_in_handler(what == backlog::handled ? "shutdown" : "shutdown_now");
  check_threads("no actor can terminate");
  const time_point began = clock::now();
  const time_point until = later(began, deadline);
  // [stopping] seq_cst: a spawner opens the slot, counts the actor, and then reads stopping_; this
  // thread sets stopping_, counts, and then reads the slots. So a spawner that has not seen
  // stopping_ set is included in the count, and its slot is found open.
  stopping_.store(true, seq_cst);
  const auto is_anybody_there = [this] {
    const std::lock_guard lock(mutex_);
    return count_actors().alive() != 0;
  };
  bool are_told = !is_anybody_there() || tell_all_to_stop(what);
  shutdown_report report;
  // No memory: the actors that were told may free some when they terminate.
  while (!are_told && clock::now() < until) {
    if (wait_for_everybody(std::min(until, later(clock::now(), between_tries)))) break;
    are_told = tell_all_to_stop(what);
  }
  for (time_point limit = until; !wait_for_everybody(limit);) {
    report.stragglers = stragglers();
    if (!report.complete()) break;
    // An actor that has terminated but is still counted needs only a few more instructions.
    limit = clock::now() + std::chrono::milliseconds(1);
  }
  report.waited = clock::now() - began;
  report.discarded = discarded_.load(relaxed);  // [counter]
  return report;
}

// Tells each actor once. Supervised actors are stopped by their supervisors, in order. False: there
// was no memory for some.
bool runtime::tell_all_to_stop(backlog what) noexcept {
  try {
    for_each_actor([what](control_block& block) {
      if (what == backlog::discarded) {
        block.ends_for_good();
        block.stop_now();
      } else if (!block.is_supervised()) {
        block.stop_at_shutdown();
      }
    });
    return true;
  } catch (...) {
    return false;
  }
}

bool runtime::join_all(time_point deadline) {
  must_not_be_in_handler("join_all");
  check_threads("no actor can terminate");
  return wait_for_everybody(deadline);
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
    // One unit stands for the reader.
    const std::size_t waiting = std::max<std::size_t>(block.load(), 1) - 1;
    those.push_back({block.where(), std::string(block.name()), doing(block), waiting});
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
    if (&block.runs_on() == each) return "waits for its pump, which no thread runs";
  }
  return block.in_life() == phase::starting ? "has not started" : "waits to be scheduled";
}

}  // namespace troupe::detail
