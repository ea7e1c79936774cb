// SPDX-License-Identifier: Apache-2.0
#include "pauses.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/sync/per_process.hpp>

#include "pauses_walk.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "waiting_send.hpp"

namespace troupe::detail {

waits_of_all& waits_of_all::here() noexcept { return per_process<waits_of_all>::here(); }

namespace {

constexpr std::uint32_t step_cost = 1;
constexpr std::uint32_t branching_step_cost = 8;

// Paths that a search may find in vain because some of their waits have ended meanwhile. The next
// one counts as a cycle: under a steady change a search must end, too.
constexpr std::uint32_t again_most = 3;

// Whether it is suspended, or stands in a line, since the wait with this number began.
bool waits(const control_block& one, std::uint64_t number) noexcept {
  const side_block* const its = one.side_if_any();
  if (its == nullptr) return false;
  return (its->pause.waits_for != nullptr && its->pause.number == number) ||
         (its->blocking_line != nullptr && its->blocking_line->number == number);
}

}  // namespace

std::uint64_t pauses::suspended_anywhere() noexcept {
  return waits_of_all::here().suspended.load(relaxed);  // [suspended] relaxed: only a hint
}

// ── What waits for what ───────────────────────────────────────────────────────────────────────

void pauses::walk::begin_slice() noexcept {
  waits_of_all& all = waits_of_all::here();
  left_ = all.slice_cost;
  all.looked_at = 0;
}

void pauses::walk::release() noexcept {
  for (control_block* each : held_) each->let_go();
  held_.clear();
  dropped_.clear();
}

// Call it for each actor that is looked at. A step along a chain is a few reads; one that follows
// requests too also allocates, and looks into the tables of requests.
bool pauses::walk::spend(std::uint32_t cost) noexcept {
  if (left_ < cost) return false;
  left_ -= cost;
  waits_of_all& all = waits_of_all::here();
  all.looked_at_most = std::max(all.looked_at_most, ++all.looked_at);
  ++all.looked_at_in_all;
  return true;
}

pauses::walk::found pauses::walk::leads_to(control_block& from,
                                           const control_block& target) noexcept {
  const waits_of_all& all = waits_of_all::here();
  // [suspended] seq_cst: an actor that begins to wait for a reply counts that first, and then
  // checks whether an actor is suspended; here the order is reversed. With a weaker order both
  // could miss the other.
  if (request_cycles::requests_anywhere() == 0 && all.blocking_in_line == 0) {
    // Each actor waits for at most one other. A cycle whose search is parked ends with the slice.
    for (const control_block* at = &from; at != &target;) {
      const side_block* const its = at->side_if_any();
      if (its == nullptr || its->pause.waits_for == nullptr) return found::nothing;
      if (its->pause.search.is_parked()) return found::nothing;  // see wait_search
      if (!spend(step_cost)) return found::unfinished;
      at = its->pause.waits_for;
    }
    return found::cycle;
  }
  try {
    start(from.where(), const_cast<control_block&>(target).where(), false);
  } catch (...) {
    return found::cycle;  // no memory to find out: it continues rather than risk a deadlock
  }
  return go_on();
}

void pauses::walk::start(const address& from, const address& target, bool back) {
  auto fresh = std::make_unique<explored>();
  fresh->steps.push_back({from, 0, 0});
  if (!back) (void)fresh->is_new(address_access::line(from));
  if (all_ != nullptr) {
    dropped_.reserve(dropped_.size() + 1);
    dropped_.push_back(std::move(all_));
  }
  all_ = std::move(fresh);
  target_ = target;
  back_ = back;
  next_ = on_the_way_ = 0;
  has_arrived_ = false;
  first_wait_ = {};
}

std::size_t pauses::walk::explored::part_of(const lifeline* one) noexcept {
  const auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(one));
  return static_cast<std::size_t>((key * 0x9e37'79b9'7f4a'7c15U) >> 56) % parts;
}

bool pauses::walk::explored::is_new(const lifeline* one) {
  if (seen_.size() == 1) {
    if (seen_.front().size() < few) return seen_.front().insert(one).second;
    std::vector<std::unordered_set<const lifeline*>> more(parts);
    // So that they do not all grow within a few slices.
    for (std::size_t i = 0; i < parts; ++i) {
      more[i].max_load_factor(1 + static_cast<float>(i) / static_cast<float>(parts));
    }
    for (const lifeline* each : seen_.front()) more[part_of(each)].insert(each);
    seen_ = std::move(more);
  }
  return seen_[part_of(one)].insert(one).second;
}

// Not control_block::hold(), which may wait for a decision of the search for reference cycles; this
// one never waits. An actor whose end has begun may still wait: in on_stop.
control_block* pauses::walk::hold(const address& who) {
  // So that recording a held actor, which must be released later, cannot fail.
  if (held_.size() == held_.capacity()) held_.reserve(2 * held_.size() + 8);
  control_block* const block = control_block::hold_to_the_end(who);
  if (block != nullptr) held_.push_back(block);
  return block;
}

void pauses::walk::add(const address& to, std::uint64_t number, std::size_t from) {
  const lifeline* const line = address_access::line(to);
  if (line != nullptr && all_->is_new(line)) all_->steps.push_back({to, number, from});
}

void pauses::walk::look_at(std::size_t which) {
  control_block* const at = hold(all_->steps[which].at);
  if (at == nullptr) return;
  if (const side_block* const its = at->side_if_any()) {
    const paused_sender& pause = its->pause;
    const message_in_line* const line = its->blocking_line;
    // Waits whose own searches are parked are left to those: see wait_search.
    if (pause.waits_for != nullptr && !pause.search.is_parked()) {
      add(pause.waits_for->where(), pause.number, which);
    }
    if (line != nullptr && !line->search.is_parked()) {
      add(line->receiver->where(), line->number, which);
    }
  }
  asked_.clear();
  at->home().request_cycles().add_asked_by(at->where(), asked_);
  for (const address& each : asked_) add(each, 0, which);
}

// Whether the wait that led to this step still has not ended. A request counts as if it had not: a
// cycle too many costs a message beyond a limit, one too few is a deadlock.
bool pauses::walk::is_still_there(const step& one) {
  if (one.number == 0) return true;
  const control_block* const waiting = hold(all_->steps[one.from].at);
  return waiting != nullptr && waits(*waiting, one.number);
}

// Breadth first.
pauses::walk::found pauses::walk::go_on() noexcept {
  try {
    for (;;) {
      while (!has_arrived_) {
        if (next_ == all_->steps.size()) return found::nothing;
        if (!spend(branching_step_cost)) return found::unfinished;
        has_arrived_ = all_->steps[next_].at == target_ && (next_ != 0 || !back_);
        if (has_arrived_) {
          on_the_way_ = next_;
        } else {
          look_at(next_++);
        }
      }
      bool is_there = true;
      while (is_there && on_the_way_ != 0) {
        if (!spend(branching_step_cost)) return found::unfinished;
        const step& one = all_->steps[on_the_way_];
        is_there = is_still_there(one);
        if (first_wait_.number == 0 && one.number != 0) {
          first_wait_ = {all_->steps[one.from].at, one.number, 0};
        }
        on_the_way_ = one.from;
      }
      if (is_there || ++again_ == again_most) return found::cycle;
      const address from = all_->steps.front().at;
      start(from, target_, back_);
    }
  } catch (...) {
    first_wait_ = {};
    return found::cycle;
  }
}

control_block* pauses::walk::suspended() noexcept {
  try {
    control_block* const one = first_wait_.number != 0 ? hold(first_wait_.at) : nullptr;
    return one != nullptr && waits(*one, first_wait_.number) ? one : nullptr;
  } catch (...) {
    return nullptr;
  }
}

// ── Suspended actors ──────────────────────────────────────────────────────────────────────────

// Call under the mutex, as for everything below unless noted. False: there is nothing to wait for,
// or the actor would wait for itself.
bool pauses::link(paused_sender& entry, control_block& receiver, walk& along) noexcept {
  side_block& its = *receiver.side_if_any();
  // The mark is set under the same mutex as the entry: a reader that finds the mark finds the
  // entry.
  if (!receiver.want_room() && (its.uncounted == 0 || receiver.is_closed())) return false;
  const walk::found what = along.leads_to(receiver, *entry.sender);
  if (what == walk::found::cycle) {
    entry.passed_over = &receiver;
    entry.because = overload_event::kind::wait_cycle;
    return false;
  }
  waits_of_all& all = waits_of_all::here();
  entry.waits_for = &receiver;
  entry.number = ++all.waits_begun;
  if (what == walk::found::unfinished) {
    all.parked.park(entry.search, *entry.sender, entry.number);
    along.has_parked = true;
  }
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
  waits_of_all::here().parked.remove(entry.search);
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
  const bool is_simulated = sender.home().conducted_by() != nullptr;
  bool is_suspended = false;
  walk along;
  {
    const std::lock_guard lock(all.guard);
    along.begin_slice();
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
  if (along.has_parked) all.parked.go_on(is_simulated);
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
    overdrawn = its->overdrawn.exchange(0, relaxed);  // [overdrawn]
    must_wait = its->uncounted != 0;
  }
  receiver.home().overdrafts().release(overdrawn);
  if (must_wait) return;
  let_line_in(receiver);
  release_paused_of(receiver);
}

void pauses::release_paused_of(control_block& receiver) noexcept {
  waits_of_all& all = waits_of_all::here();
  const bool is_simulated = receiver.home().conducted_by() != nullptr;
  paused_sender* list = nullptr;
  walk along;
  {
    const std::lock_guard lock(all.guard);
    along.begin_slice();
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
  if (along.has_parked) all.parked.go_on(is_simulated);
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
  walk along;
  walk::found what = walk::found::unfinished;
  try {
    along.start(request.to, request.to, true);
  } catch (...) {  // no memory to find out
    what = walk::found::nothing;
  }
  for (bool is_first = true; what == walk::found::unfinished; is_first = false) {
    if (!is_first) std::this_thread::yield();
    resumed those;
    {
      const std::lock_guard lock(all.guard);
      along.begin_slice();
      what = along.go_on();
      control_block* const goes_on = what == walk::found::cycle ? along.suspended() : nullptr;
      if (goes_on != nullptr) {
        side_block& its = *goes_on->side_if_any();
        if (its.pause.waits_for != nullptr) {
          those.paused = &its.pause;
          its.pause.passed_over = its.pause.waits_for;
          its.pause.because = overload_event::kind::wait_cycle;
          its.pause.left = 0;
          unlink(its.pause);
          all.suspended.fetch_sub(1, relaxed);  // [suspended] relaxed: it is no longer suspended
        } else {
          those = out_of_line(*its.blocking_line);
        }
      }
    }
    resume(those);
    along.release();
  }
  asked->let_go();
}

// Call under the mutex: the message goes into the mailbox, beyond the limit.
pauses::resumed pauses::out_of_line(message_in_line& one) noexcept {
  control_block& receiver = *one.receiver;
  const taken how = receiver.take_in_beyond_limit(*one.message, one.bytes, true);
  receiver.home().pauses().unlink(one);
  return {.in_line = &one, .how = how};
}

// Call without the mutex.
void pauses::resume(const resumed& those) noexcept {
  if (those.paused != nullptr) finish(*those.paused, true);
  if (those.in_line == nullptr) return;
  those.in_line->receiver->count_without_message(overload_event::kind::wait_cycle);
  decided(*those.in_line, those.how);
}

// ── Searches that take more than one slice ────────────────────────────────────────────────────

bool pauses::go_on_searching(search_in_progress& at) noexcept {
  waits_of_all& all = waits_of_all::here();
  resumed those;
  {
    const std::lock_guard lock(all.guard);
    at.along.begin_slice();
    if (at.number == 0) {
      const parked_search next = all.parked.take();
      if (next.sender == nullptr) return false;
      at.who = next.sender->where();
      at.number = next.number;
      at.is_new = true;
    }
    if (control_block* const sender = begin_or_go_on(at)) {
      side_block& its = *sender->side_if_any();
      if (its.pause.waits_for != nullptr) {
        its.pause.passed_over = its.pause.waits_for;
        its.pause.because = overload_event::kind::wait_cycle;
        unlink(its.pause);
        if (!waits_for_another(its.pause, at.along)) those.paused = &its.pause;
      } else {
        those = out_of_line(*its.blocking_line);
      }
    }
  }
  resume(those);
  at.along.release();
  return true;
}

// Call under the mutex. Returns the actor if it completes a cycle. The actor may have ended, or may
// wait for another mailbox by now; then there is nothing to search for. If there is no memory to
// hold the actor, the next slice tries again.
control_block* pauses::begin_or_go_on(search_in_progress& at) noexcept {
  control_block* sender = nullptr;
  walk::found what = walk::found::cycle;  // no memory to find out
  try {
    sender = at.along.hold(at.who);
    if (sender == nullptr || !waits(*sender, at.number)) {
      at.number = 0;
      return nullptr;
    }
    if (std::exchange(at.is_new, false)) {
      const side_block& its = *sender->side_if_any();
      const control_block* const for_whom =
          its.pause.waits_for != nullptr ? its.pause.waits_for : its.blocking_line->receiver;
      at.along.start(const_cast<control_block*>(for_whom)->where(), at.who, false);
    }
    what = at.along.go_on();
  } catch (...) {
    if (sender == nullptr) return nullptr;
  }
  if (what == walk::found::unfinished) return nullptr;
  at.number = 0;
  return what == walk::found::cycle ? sender : nullptr;
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
    its.overdrawn.fetch_add(bytes, relaxed);  // [overdrawn]
    // The reader gives it back. If the reader has already handled enough messages, it is given back
    // here.
    if (!receiver.want_room()) released = its.overdrawn.exchange(0, relaxed);  // [overdrawn]
  }
  receiver.home().overdrafts().release(released);
}

// An actor that is always loaded is never half empty. Without this, its share would grow with each
// message that it takes beyond its limit, until the overdraft is exhausted.
void pauses::no_longer_overdrawn(control_block& receiver, std::size_t bytes) noexcept {
  atomic<std::size_t>& share = receiver.side_if_any()->overdrawn;
  // [overdrawn] relaxed: see side_block.
  std::size_t before = share.load(relaxed);
  std::size_t released = 0;
  do {
    released = std::min(before, bytes);
  } while (!share.compare_exchange_weak(before, before - released, relaxed, relaxed));
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
