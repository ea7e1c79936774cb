// SPDX-License-Identifier: Apache-2.0
// The events that a system reports and counts.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe::detail {

void print_failure(const failure& f) {
  const std::string who = to_string(f.who);
  const std::string trace = f.trace != 0 ? ", trace " + std::to_string(f.trace) : std::string();
  std::fprintf(stderr, "troupe: actor %.*s (%s%s) failed in %.*s: %.*s\n",
               static_cast<int>(f.actor.size()), f.actor.data(), who.c_str(), trace.c_str(),
               static_cast<int>(f.message.size()), f.message.data(),
               static_cast<int>(f.what.size()), f.what.data());
}

std::uint8_t runtime::hooks::those_there() const noexcept {
  const auto bit = [](bool is_there, hook which) { return is_there ? which : 0; };
  return static_cast<std::uint8_t>(
      bit(on_failure != nullptr, of_failures) | bit(on_dead_letter != nullptr, of_dead_letters) |
      bit(on_overload != nullptr, of_overload) | bit(on_pool != nullptr, of_pools) |
      bit(observer != nullptr, of_observer));
}

// Counts a message that is not accepted. Each thread counts separately, because all of them may do
// so concurrently.
void runtime::count_event(std::size_t which) noexcept {
  const turn_context& here = this_turn();
  if (here.counts != nullptr && &here.running->home() == this) {
    here.counts->events[which].add(1);
  } else {
    foreign().events[which].fetch_add(1, relaxed);  // [counter]
  }
}

void runtime::actor_failed(const failure& f) noexcept {
  failures_.fetch_add(1, relaxed);  // [counter]
  const auto those = hooks_.here();
  try {
    if (those) those->on_failure(f);
  } catch (...) {
    print_failure(f);  // the hook failed as well; the failure should still be reported
  }
  if (looked_at) observe([&](troupe::observer& to) { to.failed(f); });
}

void runtime::dead(const dead_letter& letter) noexcept {
  count_event(dead_letter_event);
  turn_context& here = this_turn();
  if (here.in_dead_letter) return;  // dead letters of the hook itself are counted and not reported
  if (has_hook(of_dead_letters)) {
    const auto those = hooks_.here();
    here.in_dead_letter = true;
    try {
      if (those && those->on_dead_letter) those->on_dead_letter(letter);
    } catch (...) {
      // It is counted; nothing else can be notified.
    }
    here.in_dead_letter = false;
  }
  if (looked_at) observe([&](troupe::observer& to) { to.dead(letter); });
}

void runtime::overloaded(const overload_event& event) noexcept {
  count_event(static_cast<std::size_t>(event.what));
  turn_context& here = this_turn();
  // messages that the hook itself sends to a full mailbox are counted and not reported
  if (here.in_hook) return;
  if (has_hook(of_overload)) {
    const auto those = hooks_.here();
    const bool must_not_wait = std::exchange(here.must_not_wait, true);
    here.in_hook = true;
    try {
      if (those && those->on_overload) those->on_overload(event);
    } catch (...) {
      // It is counted; nothing else can be notified.
    }
    here.in_hook = false;
    here.must_not_wait = must_not_wait;
  }
  if (looked_at) observe([&](troupe::observer& to) { to.overloaded(event); });
}

static void print_exhausted(const overload_event& event, std::size_t budget,
                            std::size_t overdraft) {
  const bool all = event.what == overload_event::kind::budget_exhausted;
  std::fprintf(stderr,
               "troupe: the %s of %zu bytes is exhausted: message %.*s to actor %.*s (%s) was "
               "refused. Raise system_options::memory_budget, or lower max_messages or max_bytes\n",
               all ? "memory budget" : "mailbox overdraft", all ? budget : overdraft,
               static_cast<int>(event.message.size()), event.message.data(),
               static_cast<int>(event.actor.size()), event.actor.data(),
               to_string(event.to).c_str());
}

void runtime::exhausted(const overload_event& event) noexcept {
  // [counter] relaxed: of the threads that find the last report a second old, one reports.
  const std::int64_t now = clock::now().time_since_epoch().count();
  std::int64_t last = exhausted_told_.load(relaxed);
  const std::int64_t pause = std::chrono::duration_cast<duration>(std::chrono::seconds(1)).count();
  if ((last != 0 && now - last < pause) ||
      !exhausted_told_.compare_exchange_strong(last, now, relaxed)) {
    return;
  }
  try {
    if (!has_hook(of_overload)) print_exhausted(event, bounds_.budget, overdraft_.limit());
  } catch (...) {
    // No memory for the line.
  }
  overloaded(event);
}

// The slot of `whose` may have been reused by now: the names are those of its current actor.
void runtime::pool_changed(pool_event event, const runnable* whose) noexcept {
  turn_context& here = this_turn();
  if (here.in_hook || !has_hook(of_pools)) return;  // it is counted
  const auto those = hooks_.here();
  if (!those || !those->on_pool) return;
  struct let_go {
    void operator()(control_block* held) const noexcept { held->let_go(); }
  };
  std::unique_ptr<control_block, let_go> held;
  if (whose != nullptr) {
    auto& block = const_cast<control_block&>(static_cast<const control_block&>(*whose));
    held.reset(control_block::hold_in(block.line(), *this));
    if (held != nullptr) {
      const dispatch* const what = block.handling();
      event.who = block.where();
      event.actor = block.name();
      event.message = what != nullptr ? what->message : std::string_view();
    }
  }
  const bool must_not_wait = std::exchange(here.must_not_wait, true);
  here.in_hook = true;
  try {
    those->on_pool(event);
  } catch (...) {
    // It is counted; nothing else can be notified.
  }
  here.in_hook = false;
  here.must_not_wait = must_not_wait;
}

void runtime::count_foreign(std::int64_t accepted, std::int64_t handled,
                            std::int64_t bytes) noexcept {
  foreign_counts& here = foreign();
  // [counter] relaxed, all of these.
  if (accepted != 0) here.accepted.fetch_add(static_cast<std::uint64_t>(accepted), relaxed);
  if (handled != 0) here.handled.fetch_add(static_cast<std::uint64_t>(handled), relaxed);
  if (bytes == 0) return;
  const auto before =
      static_cast<std::int64_t>(here.bytes.fetch_add(static_cast<std::uint64_t>(bytes), relaxed));
  if (settles_each_turn) return budget_.add(bytes);
  if (bounds_.budget == no_limit) return;
  // [budget] relaxed: of the threads that find that much unreported, one reports it.
  std::int64_t told = here.bytes_told.load(relaxed);
  const std::int64_t now = before + bytes;
  if (now - told < settles_at_ && told - now < settles_at_) return;
  if (here.bytes_told.compare_exchange_strong(told, now, relaxed)) budget_.add(now - told);
}

// The reported amount is implied by the thresholds for the next report.
void runtime::settle(activity& counts) noexcept {
  const auto now = static_cast<std::int64_t>(counts.bytes_waiting.value());
  budget_.add(now - (counts.bytes_high - settles_at_));
  counts.bytes_high = now + settles_at_;
  counts.bytes_low = now - settles_at_;
}

namespace {

// Indexed like activity::events.
void add_events(troupe::statistics& to, std::size_t which, std::uint64_t count) noexcept {
  constexpr std::array<std::uint64_t troupe::statistics::*, 9> members = {
      &troupe::statistics::messages_refused,    &troupe::statistics::messages_dropped,
      &troupe::statistics::messages_redirected, &troupe::statistics::pauses,
      &troupe::statistics::pauses_timed_out,    &troupe::statistics::wait_cycles,
      &troupe::statistics::budget_exhausted,    &troupe::statistics::budget_exhausted,
      &troupe::statistics::dead_letters};
  to.*members[which] += count;
}

}  // namespace

void runtime::add_activity(troupe::statistics& to, const activity& done) noexcept {
  to.turns += done.turns.value();
  to.messages_accepted += done.accepted.value();
  to.messages_handled += done.handled.value();
  to.message_bytes_waiting += done.bytes_waiting.value();
  to.mailbox_depth_highest = std::max(to.mailbox_depth_highest, done.depth_highest.value());
  for (std::size_t i = 0; i < done.events.size(); ++i) add_events(to, i, done.events[i].value());
}

troupe::statistics runtime::message_counts() const {
  troupe::statistics s = past_;
  for_each_activity([&](const activity& done) { add_activity(s, done); });
  for (const foreign_counts& each : foreign_) {
    s.messages_accepted += each.accepted.load(relaxed);   // [counter]
    s.messages_handled += each.handled.load(relaxed);     // [counter]
    s.message_bytes_waiting += each.bytes.load(relaxed);  // [counter]
    for (std::size_t i = 0; i < each.events.size(); ++i) {
      add_events(s, i, each.events[i].load(relaxed));  // [counter]
    }
  }
  return s;
}

troupe::statistics runtime::statistics() const {
  const std::lock_guard lock(mutex_);
  troupe::statistics s = message_counts();
  for (const auto& each : threads_) s.own_threads += each->finished() ? 0 : 1;
  if (static_cast<std::int64_t>(s.message_bytes_waiting) < 0) s.message_bytes_waiting = 0;
  // The counts are read one at a time, so a busy system may seem to have handled more.
  s.messages_waiting = s.messages_accepted - std::min(s.messages_accepted, s.messages_handled);
  const population actors = count_actors();
  s.actors_alive = actors.alive();
  s.actors_spawned = actors.spawned;
  s.actors_collected = cycles_.collected();
  s.failures = failures_.load(relaxed);          // [counter]
  s.restarts = restarts_.load(relaxed);          // [counter]
  s.answers_late = answers_late_.load(relaxed);  // [counter]
  s.overdraft_bytes = overdraft_.used();
  s.overdraft_limit = overdraft_.limit();
  s.memory_budget = bounds_.budget;
  s.senders_paused = pauses_.waiting();
  s.handlers_waiting = pauses_.in_lines();
  s.timers_armed = timers_.armed();
  s.ticks_skipped = timers_.skipped();
  dispatchers_.add_to(s);
  return s;
}

std::vector<troupe::system::overloaded_actor> runtime::overloaded_actors() {
  std::vector<troupe::system::overloaded_actor> those;
  for_each_actor([&](control_block& block) {
    const side_block* const side = block.side_if_any();
    if (side == nullptr || block.in_life() == phase::ended) return;
    const overload_counts counts = side->overloads.now();
    if (counts != overload_counts{})
      those.push_back({block.where(), std::string(block.name()), counts});
  });
  return those;
}

}  // namespace troupe::detail
