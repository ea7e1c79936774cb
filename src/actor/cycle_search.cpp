// SPDX-License-Identifier: Apache-2.0
#include "cycle_search.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cycle_suspects.hpp"
#include "frozen_actors.hpp"
#include "runtime.hpp"

namespace troupe::detail {

namespace {

constexpr std::chrono::hours longest_every{24};
constexpr int most_rarely = 64;  // times every_
constexpr int least_pause = 64;  // times the duration of the previous search

void check_is_outside_of_handlers(std::string_view what) {
  const control_block* const running = this_turn().running;
  if (running == nullptr) return;
  throw std::logic_error(
      "system::" + std::string(what) + "() inside a handler of " + std::string(running->name()) +
      " would inspect actors during a turn: call it from a thread that runs no actor");
}

}  // namespace

// There is no thread yet.
void cycle_search::start(duration every) noexcept {
  every_ = pause_ = least_ = std::clamp<duration>(every, duration::zero(), longest_every);
  due_ = time_point::max();
  seen_ = 0;
  lives_.store(0, relaxed);      // [listed] relaxed: no actor has been spawned
  collected_.store(0, relaxed);  // [counter]
}

void cycle_search::stop() noexcept {
  const std::lock_guard lock(thread_mutex_);
  if (!thread_.joinable()) return;
  stopping_.store(true, relaxed);  // [cycles-stop] relaxed: the parker publishes it
  parker_.notify();
  thread_.join();
  stopping_.store(false, relaxed);  // for the next system
}

void cycle_search::wake() noexcept {
  if (home_.conducted_by() != nullptr) return home_.timers().wake();
  {
    const std::lock_guard lock(thread_mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = start_thread("troupe/cycles", [this] { run(); });
      } catch (...) {  // no memory, or no thread: the next spawn tries again
        return;
      }
    }
  }
  parker_.notify();
}

void cycle_search::run() noexcept {
  this_turn().must_not_wait = true;
  while (!stopping_.load(relaxed)) {  // [cycles-stop]
    const time_point until = look(clock::now());
    if (until != time_point::max()) {
      (void)parker_.park_until(until);
    } else {
      parker_.park();
    }
  }
}

// [listed] relaxed, all of these: a spawning thread that finds no search expected wakes the search
// thread, and that wake-up publishes the count. If a search is expected, the spawn precedes the
// removal of the mark, so the search then sees the spawn.

bool cycle_search::spawned() noexcept {
  const std::uint64_t before = lives_.fetch_add(one_spawned + one_alive, relaxed);
  return (before & is_expected) == 0 && every_ != duration::zero();
}

void cycle_search::ended() noexcept { lives_.fetch_sub(one_alive, relaxed); }  // [listed]

time_point cycle_search::look(time_point now) noexcept {
  if (every_ == duration::zero()) return time_point::max();
  for (;;) {
    const std::uint64_t lives = lives_.load(relaxed);  // [listed]
    if (spawned_in(lives) != seen_) {
      seen_ = spawned_in(lives);
      lives_.fetch_or(is_expected, relaxed);  // [listed]
      pause_ = every_;
      due_ = std::min(due_, later(now, least_));
    }
    if (now < due_) return due_;
    due_ = is_any_alive(lives) ? search() : time_point::max();
    lives_.fetch_and(~is_expected, relaxed);  // [listed]
    now = clock::now();
  }
}

// Returns when to search again.
time_point cycle_search::search() noexcept {
  const time_point began = clock::now();
  bool is_over = true;  // if there is no memory, it tries again
  try {
    (void)end_unreachable(is_over);
  } catch (...) {
    is_over = false;
  }
  const time_point now = clock::now();
  pause_ = is_over ? std::min(2 * pause_, most_rarely * every_) : every_;
  least_ = std::max(every_, least_pause * (now - began));
  return later(now, std::max(pause_, least_));
}

// First finds the actors that may be unreachable, freezing one at a time. Then only those are
// frozen together, and the decision is made.
std::size_t cycle_search::end_unreachable(bool& is_over) {
  const std::lock_guard lock(one_at_a_time_);
  const auto suspected = cycle_suspects(home_).find();
  slices pace;
  frozen_actors those(home_, pace);
  those.freeze(frozen_actors::which::that_list, &suspected);
  const frozen_actors::outcome found = those.end_unreachable();
  collected_.fetch_add(found.ended, relaxed);  // [counter]
  is_over = found.ended == 0 && !found.again;
  return found.ended;
}

std::size_t cycle_search::collect() {
  check_is_outside_of_handlers("collect_cycles");
  bool is_over = true;
  return end_unreachable(is_over);
}

std::vector<troupe::system::suspect> cycle_search::suspects() {
  check_is_outside_of_handlers("unreachable_suspects");
  const std::lock_guard lock(one_at_a_time_);
  slices pace;
  frozen_actors those(home_, pace);
  those.freeze(frozen_actors::which::all);
  return those.suspects();
}

}  // namespace troupe::detail
