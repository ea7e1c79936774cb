// SPDX-License-Identifier: Apache-2.0
#include "pauses.hpp"

#include <mutex>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/sync/per_process.hpp>

#include "pauses_walk.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "waiting_send.hpp"

namespace troupe::detail {

waits_of_all& waits_of_all::here() noexcept { return per_process<waits_of_all>::here(); }

std::uint64_t pauses::suspended_anywhere() noexcept {
  return waits_of_all::here().suspended.load(relaxed);  // [suspended] relaxed: only a hint
}

// ── What waits for what ───────────────────────────────────────────────────────────────────────

pauses::walk::~walk() {
  for (control_block* each : held_) each->let_go();
}

bool pauses::walk::leads_to(control_block& from, const control_block& target) noexcept {
  const waits_of_all& all = waits_of_all::here();
  // [suspended] seq_cst: an actor that begins to wait for a reply counts that first, and then
  // checks whether an actor is suspended; here the order is reversed. With a weaker order both
  // could miss the other.
  if (request_cycles::requests_anywhere() == 0 && all.blocking_in_line == 0) {
    // Each actor waits for at most one other, and there is no cycle yet.
    for (const control_block* at = &from; at != &target;) {
      const side_block* const its = at->side_if_any();
      if (its == nullptr || its->pause.waits_for == nullptr) return false;
      at = its->pause.waits_for;
    }
    return true;
  }
  try {
    return follow(from, target, false);
  } catch (...) {
    return true;  // no memory to find out: it continues rather than risk a deadlock
  }
}

bool pauses::walk::leads_back_to(control_block& at) noexcept {
  try {
    return follow(at, at, true);
  } catch (...) {
    return false;
  }
}

void pauses::walk::add(control_block* to, std::size_t from) {
  if (seen_.insert(to).second) steps_.push_back({to, from});
}

// Breadth first. `back`: the start does not count as having arrived.
bool pauses::walk::follow(control_block& from, const control_block& target, bool back) {
  steps_.assign(1, {&from, 0});
  seen_.clear();
  if (!back) seen_.insert(&from);
  std::vector<address> asked;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    control_block& at = *steps_[i].at;
    if (&at == &target && (i != 0 || !back)) {
      found_ = i;
      return true;
    }
    if (const side_block* const its = at.side_if_any()) {
      if (its->pause.waits_for != nullptr) add(its->pause.waits_for, i);
      if (its->blocking_line != nullptr) add(its->blocking_line->receiver, i);
    }
    asked.clear();
    at.home().request_cycles().add_asked_by(at.where(), asked);
    for (const address& each : asked) {
      // Not hold(), which may wait for a decision of the search for reference cycles; try_hold()
      // never waits.
      lifeline* const line = address_access::line(each);
      if (line == nullptr) continue;
      // So that recording a held actor, which must be released later, cannot fail.
      if (held_.size() == held_.capacity()) held_.reserve(2 * held_.size() + 8);
      if (!line->try_hold(address_access::generation(each))) continue;
      control_block* const block = &control_block::of(*line);
      held_.push_back(block);
      add(block, i);
    }
  }
  return false;
}

// On the path that was found: the first actor that is suspended, or that handles nothing while it
// stands in a line.
control_block* pauses::walk::somebody_suspended() const noexcept {
  for (std::size_t i = found_; i != 0;) {
    i = steps_[i].from;
    const side_block* const its = steps_[i].at->side_if_any();
    if (its != nullptr && (its->pause.waits_for != nullptr || its->blocking_line != nullptr)) {
      return steps_[i].at;
    }
  }
  return nullptr;
}

// ── Suspended actors ──────────────────────────────────────────────────────────────────────────

// Call under the mutex, as for everything below unless noted. False: there is nothing to wait for,
// or the actor would wait for itself.
bool pauses::link(paused_sender& entry, control_block& receiver, walk& along) noexcept {
  side_block& its = *receiver.side_if_any();
  // The mark is set under the same mutex as the entry: a reader that finds the mark finds the
  // entry.
  if (!receiver.want_room() && (its.uncounted == 0 || receiver.is_closed())) return false;
  if (along.leads_to(receiver, *entry.sender)) {
    entry.passed_over = &receiver;
    entry.because = overload_event::kind::wait_cycle;
    return false;
  }
  entry.waits_for = &receiver;
  entry.previous = nullptr;
  entry.next = std::exchange(its.waiters, &entry);
  if (entry.next != nullptr) entry.next->previous = &entry;
  atomic<std::uint64_t>& waiting = receiver.home().pauses().waiting_;
  // [waiting] [unchecked] release: reading in the statistics that it waits happens after its
  // handler's effects.
  waiting.store(waiting.load(relaxed) + 1, troupe::release);
  return true;
}

void pauses::unlink(paused_sender& entry) noexcept {
  control_block* const receiver = std::exchange(entry.waits_for, nullptr);
  (entry.previous != nullptr ? entry.previous->next : receiver->side_if_any()->waiters) =
      entry.next;
  if (entry.next != nullptr) entry.next->previous = entry.previous;
  atomic<std::uint64_t>& waiting = receiver->home().pauses().waiting_;
  waiting.store(waiting.load(relaxed) - 1, troupe::release);  // [waiting] [unchecked]
}

bool pauses::waits_for_another(paused_sender& entry, walk& along) noexcept {
  while (entry.left != 0) {
    if (link(entry, *entry.others[--entry.left], along)) return true;
  }
  // [suspended] relaxed: it is no longer suspended.
  waits_of_all::here().suspended.fetch_sub(1, relaxed);
  return false;
}

// Call without the mutex. `schedules`: its turn is over, and it is scheduled again; the entry must
// not be accessed afterwards.
void pauses::finish(paused_sender& entry, bool schedules) noexcept {
  control_block* const first = std::exchange(entry.first, nullptr);
  control_block* const passed_over = std::exchange(entry.passed_over, nullptr);
  const std::vector<control_block*> others = std::move(entry.others);
  entry.others.clear();
  if (passed_over != nullptr) passed_over->count_without_message(entry.because);
  if (schedules) entry.sender->runs_on().schedule(*entry.sender);
  first->let_go();
  for (control_block* each : others) each->let_go();
}

bool pauses::pause(control_block& sender, control_block& first,
                   std::vector<control_block*> others) noexcept {
  paused_sender* mine = nullptr;
  try {
    (void)first.side();
    mine = &sender.side().pause;
  } catch (...) {  // no memory for a side block: it is not suspended
    first.let_go();
    for (control_block* each : others) each->let_go();
    return false;
  }
  waits_of_all& all = waits_of_all::here();
  bool is_suspended = false;
  {
    walk along;
    const std::lock_guard lock(all.guard);
    mine->sender = &sender;
    mine->first = &first;
    mine->others = std::move(others);
    mine->left = mine->others.size();
    // A thread that tells it to stop does so before it comes here: either this check sees it, or
    // that thread finds the entry.
    if (!sender.is_told_to_stop()) {
      all.suspended.fetch_add(1, seq_cst);  // [suspended] seq_cst: see leads_to()
      is_suspended = link(*mine, first, along) || waits_for_another(*mine, along);
    }
  }
  // From here on a suspended actor may be running, or may be gone.
  if (!is_suspended) finish(*mine, false);
  return is_suspended;
}

// The line comes first: suspended actors send when they run again.
void pauses::release_waiters_of(control_block& receiver) noexcept {
  std::size_t overdrawn = 0;
  bool must_wait = false;
  {
    const std::lock_guard lock(waits_of_all::here().guard);
    side_block* const its = receiver.side_if_any();
    if (its == nullptr) return;
    overdrawn = std::exchange(its->overdrawn, 0);
    must_wait = its->uncounted != 0;
  }
  receiver.home().overdrafts().release(overdrawn);
  if (must_wait) return;
  let_line_in(receiver);
  release_paused_of(receiver);
}

void pauses::release_paused_of(control_block& receiver) noexcept {
  paused_sender* list = nullptr;
  {
    walk along;
    const std::lock_guard lock(waits_of_all::here().guard);
    side_block* const its = receiver.side_if_any();
    while (its->waiters != nullptr) {  // newest first; so they are resumed in order of arrival
      paused_sender& each = *its->waiters;
      unlink(each);
      if (!waits_for_another(each, along)) each.next = std::exchange(list, &each);
    }
  }
  while (list != nullptr) {
    paused_sender& each = *std::exchange(list, list->next);
    finish(each, true);
  }
}

void pauses::release(control_block& sender, bool is_late) noexcept {
  paused_sender* entry = nullptr;
  {
    // The mutex comes first: a sender that is about to be suspended makes its side block, and then
    // checks under the mutex whether it has been told to stop.
    waits_of_all& all = waits_of_all::here();
    const std::lock_guard lock(all.guard);
    side_block* const its = sender.side_if_any();
    if (its == nullptr || its->pause.waits_for == nullptr) return;
    entry = &its->pause;
    if (is_late) {
      entry->passed_over = entry->waits_for;
      entry->because = overload_event::kind::pause_timed_out;
    }
    unlink(*entry);
    entry->left = 0;
    all.suspended.fetch_sub(1, relaxed);  // [suspended] relaxed: it is no longer suspended
  }
  finish(*entry, true);
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────

void pauses::begin_blocking(const request_cycles::question& request) noexcept {
  waits_of_all& all = waits_of_all::here();
  // [suspended] seq_cst: see leads_to(). The request has been counted before.
  if (all.suspended.load(seq_cst) == 0) return;
  control_block* const asked = control_block::hold(request.to);
  if (asked == nullptr) return;
  paused_sender* paused = nullptr;
  message_in_line* in_line = nullptr;
  taken how = taken::full;
  {
    walk along;
    const std::lock_guard lock(all.guard);
    control_block* const goes_on =
        along.leads_back_to(*asked) ? along.somebody_suspended() : nullptr;
    if (goes_on != nullptr) {
      side_block& its = *goes_on->side_if_any();
      if (its.pause.waits_for != nullptr) {
        paused = &its.pause;
        paused->passed_over = paused->waits_for;
        paused->because = overload_event::kind::wait_cycle;
        paused->left = 0;
        unlink(*paused);
        all.suspended.fetch_sub(1, relaxed);  // [suspended] relaxed: it is no longer suspended
      } else {
        in_line = its.blocking_line;
        how = in_line->receiver->take_in_beyond_limit(*in_line->message, in_line->bytes, true);
        in_line->receiver->home().pauses().unlink(*in_line);
      }
    }
  }
  if (paused != nullptr) finish(*paused, true);
  if (in_line != nullptr) {
    in_line->receiver->count_without_message(overload_event::kind::wait_cycle);
    decided(*in_line, how);
  }
  asked->let_go();
}

// ── The overdraft ─────────────────────────────────────────────────────────────────────────────

namespace {

std::unique_lock<mutex> lock_unless(bool is_locked) {
  std::unique_lock lock(waits_of_all::here().guard, std::defer_lock);
  if (!is_locked) lock.lock();
  return lock;
}

}  // namespace

void pauses::overdrawn(control_block& receiver, std::size_t bytes, bool is_locked) noexcept {
  std::size_t released = 0;
  {
    const std::unique_lock lock = lock_unless(is_locked);
    side_block& its = *receiver.side_if_any();
    its.overdrawn += bytes;
    // The reader gives it back. If the reader has already handled enough messages, it is given back
    // here.
    if (!receiver.want_room()) released = std::exchange(its.overdrawn, 0);
  }
  receiver.home().overdrafts().release(released);
}

void pauses::begin_uncounted(control_block& receiver, bool is_locked) noexcept {
  const std::unique_lock lock = lock_unless(is_locked);
  ++receiver.side_if_any()->uncounted;
}

void pauses::end_uncounted(control_block& receiver, bool is_locked) noexcept {
  {
    const std::unique_lock lock = lock_unless(is_locked);
    if (--receiver.side_if_any()->uncounted != 0 || receiver.want_room()) return;
  }
  if (!is_locked) release_waiters_of(receiver);
}

}  // namespace troupe::detail
