// SPDX-License-Identifier: Apache-2.0
// What a system tells and counts.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <troupe/sync/per_process.hpp>
#include <troupe/sync/per_thread.hpp>

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

std::shared_ptr<const runtime::hooks> runtime::current_hooks() const noexcept {
  const std::lock_guard lock(mutex_);
  return hooks_;
}

void runtime::actor_failed(const failure& f) noexcept {
  failures_.fetch_add(1, relaxed);  // [counter]
  const auto those = current_hooks();
  try {
    if (those != nullptr) those->on_failure(f);
  } catch (...) {
    print_failure(f);  // the hook failed as well; somebody should hear of it
  }
  if (looked_at) observe([&](troupe::observer& to) { to.failed(f); });
}

void runtime::dead(const dead_letter& letter) noexcept {
  dead_letters_.fetch_add(1, relaxed);  // [counter]
  turn_context& here = this_turn();
  if (here.in_dead_letter) return;  // what the hook itself sends in vain is counted and not told
  const auto those = current_hooks();
  if (those != nullptr && those->on_dead_letter) {
    here.in_dead_letter = true;
    try {
      those->on_dead_letter(letter);
    } catch (...) {
      // It is counted; there is nobody else to tell.
    }
    here.in_dead_letter = false;
  }
  if (looked_at) observe([&](troupe::observer& to) { to.dead(letter); });
}

runtime::foreign_counts& runtime::foreign() noexcept {
  struct thread_count {
    atomic<std::size_t> value{0};
  };
  atomic<std::size_t>& threads = per_process<thread_count>::here().value;
  std::size_t& mine = per_thread<std::size_t, foreign_counts>::here();
  if (mine == 0) mine = threads.fetch_add(1, relaxed) + 1;  // [counter]
  return foreign_[mine % foreign_.size()];
}

void runtime::overloaded(const overload_event& event) noexcept {
  overloads_.add(event.what);
  turn_context& here = this_turn();
  if (here.in_hook) return;  // what the hook itself sends to a full mailbox is counted and not told
  const bool must_not_wait = std::exchange(here.must_not_wait, true);
  here.in_hook = true;
  const auto those = current_hooks();
  try {
    if (those != nullptr && those->on_overload) those->on_overload(event);
  } catch (...) {
    // It is counted; there is nobody else to tell.
  }
  here.in_hook = false;
  here.must_not_wait = must_not_wait;
  if (looked_at) observe([&](troupe::observer& to) { to.overloaded(event); });
}

// `whose` may be anybody's slot by now: the names are those of whoever is there.
void runtime::pool_changed(pool_event event, const runnable* whose) noexcept {
  turn_context& here = this_turn();
  if (here.in_hook) return;  // it is counted
  const auto those = current_hooks();
  if (those == nullptr || !those->on_pool) return;
  struct let_go {
    void operator()(control_block* held) const noexcept { held->let_go(); }
  };
  std::unique_ptr<control_block, let_go> held;
  if (whose != nullptr) {
    auto& block = const_cast<control_block&>(static_cast<const control_block&>(*whose));
    if (block.line().try_hold_in_use()) held.reset(&block);
    if (held != nullptr && &block.home() == this) {
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
    // It is counted; there is nobody else to tell.
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
  here.bytes.fetch_add(static_cast<std::uint64_t>(bytes), relaxed);
  if (has_budget) budget_.add(bytes);
}

// The counts keep what they have told by where they will tell again.
void runtime::settle(activity& counts) noexcept {
  const auto now = static_cast<std::int64_t>(counts.bytes_waiting.value());
  budget_.add(now - (counts.bytes_high - settles_at_));
  counts.bytes_high = now + settles_at_;
  counts.bytes_low = now - settles_at_;
}

void runtime::add_activity(troupe::statistics& to, const activity& done) noexcept {
  to.turns += done.turns.value();
  to.messages_accepted += done.accepted.value();
  to.messages_handled += done.handled.value();
  to.message_bytes_waiting += done.bytes_waiting.value();
  to.mailbox_depth_highest = std::max(to.mailbox_depth_highest, done.depth_highest.value());
}

troupe::statistics runtime::statistics() const {
  const std::lock_guard lock(mutex_);
  troupe::statistics s = past_;
  for_each_activity([&](const activity& done) { add_activity(s, done); });
  for (const auto& each : threads_) s.own_threads += each->finished() ? 0 : 1;
  for (const foreign_counts& each : foreign_) {
    s.messages_accepted += each.accepted.load(relaxed);   // [counter]
    s.messages_handled += each.handled.load(relaxed);     // [counter]
    s.message_bytes_waiting += each.bytes.load(relaxed);  // [counter]
  }
  if (static_cast<std::int64_t>(s.message_bytes_waiting) < 0) s.message_bytes_waiting = 0;
  // The counts are read one after the other, so that a busy system may seem to have handled more.
  s.messages_waiting = s.messages_accepted - std::min(s.messages_accepted, s.messages_handled);
  const population actors = count_actors();
  s.actors_alive = actors.alive();
  s.actors_spawned = actors.spawned;
  s.actors_collected = cycles_.collected();
  s.dead_letters = dead_letters_.load(relaxed);  // [counter]
  s.failures = failures_.load(relaxed);          // [counter]
  s.restarts = restarts_.load(relaxed);          // [counter]
  s.answers_late = answers_late_.load(relaxed);  // [counter]
  const overload_counts limits = overloads_.now();
  s.messages_refused = limits.refused;
  s.messages_dropped = limits.dropped;
  s.messages_redirected = limits.redirected;
  s.pauses = limits.paused;
  s.pauses_timed_out = limits.pauses_timed_out;
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
