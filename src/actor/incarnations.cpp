// SPDX-License-Identifier: Apache-2.0
// One actor with several incarnations: what happens between two of them.
#include <troupe/actor/incarnations.hpp>

#include <cstdint>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/system.hpp>

#include "drop_ring.hpp"
#include "kept_message.hpp"
#include "observed_messages.hpp"
#include "overdraft.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "termination_notices.hpp"
#include "watching.hpp"

namespace troupe::detail {

namespace {

// Never in a mailbox: handling() returns these.
constexpr dispatch constructor_dispatch{nullptr, nullptr, "its constructor", false, true};
constexpr dispatch between_dispatch{nullptr, nullptr, "waiting to be started by its supervisor",
                                    false, true};

}  // namespace

// ── For the layer above ───────────────────────────────────────────────────────────────────────

control_block& make_between(troupe::system& of, const actor_type& type,
                            const spawn_options& options, std::unique_ptr<incarnations> makes) {
  control_block& block = system_access::of(of).make_actor(type, &options, std::move(makes));
  block.begin_between();
  return block;
}

void end_object(control_block& of) { of.end_object(); }

bool begin_incarnation(control_block& of) noexcept {
  return of.decide(control_block::next_object::begins, exit_reason::unknown);
}

bool end_for_good(control_block& of, exit_reason as) noexcept {
  return of.decide(control_block::next_object::never, as);
}

// ── Between two incarnations ──────────────────────────────────────────────────────────────────
//
// The mailbox stays busy, so that only a decision schedules the actor:
//
//   none       an incarnation exists
//   telling    none exists; the turn that ended the last one still notifies the supervisor, and
//              uses the factory
//   undecided  none exists; that turn is over
//   begins     decided: the next turn makes an incarnation, and continues like any first turn
//   never      decided: the next turn terminates the actor
//
// none → telling → undecided in the turn that ended an incarnation; telling or undecided → begins
// or never by the first decision; begins → none in the next turn. If the decision falls while the
// state is telling, that turn schedules the next one when it is done, because the next one may
// destroy what the turn uses.

void control_block::begin_between() noexcept {
  side_block& its = *side_if_any();
  // [phase] relaxed: only the turn uses it, and there has been no turn yet. Its pump may have been
  // destroyed.
  phase_.fetch_and(waited_for | for_good, relaxed);
  phase_.fetch_or(static_cast<std::uint32_t>(phase::starting) | between, relaxed);
  now_handling(between_dispatch);
  // [restart] release: as below. [spare] Before the actor is returned to the caller, only the end
  // of its pump may decide, and that is on the thread of its turns.
  its.next.store({next_object::undecided}, release);
}

bool control_block::decide(next_object what, exit_reason as) noexcept {
  if (!is_supervised()) return false;
  side_block* const its = side_if_any();
  decision now{next_object::undecided};
  // [restart] acquire: the turn that ended the object happens before the one that is scheduled
  // here. Release: what this thread has done happens before that one, if the telling turn schedules
  // it.
  while (!its->next.compare_exchange_weak(now, {what, as}, acq_rel, relaxed)) {
    if (now.what != next_object::undecided && now.what != next_object::telling) return false;
  }
  if (now.what == next_object::undecided) executor_->schedule(*this);
  return true;
}

bool control_block::is_supervised() const noexcept {
  const side_block* const its = side_if_any();
  return its != nullptr && its->supervised;
}

void control_block::ends_for_good() noexcept {
  // [phase] relaxed: its turns are on this thread, or its last one is triggered after this.
  phase_.fetch_or(for_good, relaxed);
}

bool control_block::may_have_next_object(exit_reason reason) const noexcept {
  return is_supervised() && reason != exit_reason::unreachable &&
         (phase_.load(relaxed) & for_good) == 0;  // [phase]
}

bool control_block::comes_back(exit_reason reason) noexcept {
  return may_have_next_object(reason) && side_if_any()->again->comes_back(reason);
}

// The object and its handlers are gone; this removes the rest of its state. The messages sent to it
// stay.
turn_result control_block::end_incarnation(exit_reason reason, activity& mine) noexcept {
  side_block& its = *side_if_any();
  its.exclusive = its.held_up = nullptr;
  // [urgent] relaxed: clears marks that were meant for this object. Before the links: one that
  // breaks after that check is urgent again. High-priority messages still go first.
  urgent_.fetch_and(high_pushed, relaxed);
  unwatch_all(its);
  end_listeners_of_object(its.termination_notices);
  forget_broken_links(its.termination_notices);
  home().timers().cancel_own(*this);
  const bool has_high = !its.sorted.empty();
  put_all_back();
  if (its.again->forgets_mailbox()) forget_mailbox(mine);
  if (inbox().make_room(rules().low)) home().pauses().release_waiters_of(*this);
  if (its.once_more != nullptr) {
    inbox().put_in_front(*its.once_more, *its.once_more);
    its.once_more = nullptr;
  }
  if (has_high) urgent_.fetch_or(high_pushed, relaxed);  // [high] the turn's
  // [phase] Accessed only by the turn.
  phase_.fetch_and(waited_for | for_good, relaxed);
  phase_.fetch_or(static_cast<std::uint32_t>(phase::starting) | between, relaxed);
  now_handling(between_dispatch);
  const std::string what = std::exchange(its.what, {});
  hold();
  // [restart] relaxed: only this turn proceeds from here, until it says so below.
  its.next.store({next_object::telling}, relaxed);
  its.again->ended(reason, what);
  decision now{next_object::telling};
  // [restart] release: all of this happens before the turn that a later decision schedules. Acquire
  // on failure: everything before a decision made meanwhile happens before that turn.
  if (!its.next.compare_exchange_strong(now, {next_object::undecided}, release, acquire)) {
    executor_->schedule(*this);
  }
  let_go();
  return turn_result::resting;
}

// An empty result: there is an incarnation, and the turn continues with it.
std::optional<turn_result> control_block::next_incarnation(activity& mine) noexcept {
  side_block& its = *side_if_any();
  // [restart] relaxed: schedule() has published it.
  if (const decision made = its.next.load(relaxed); made.what == next_object::never) {
    line().begin_end();
    release_what_it_owns();
    finish(made.as, &mine, false);
    return turn_result::ended;
  }
  its.next.store({next_object::none}, relaxed);  // [restart]
  if (its.objects_begun++ != 0) home().count_restart();
  now_handling(constructor_dispatch);
  bool is_made = false;
  try {
    const constructing_scope scope(*this);
    its.again->construct(object());
    is_made = true;
  } catch (...) {
    report_failure(constructor_dispatch.message);
  }
  if (!is_made) {
    if (comes_back(exit_reason::failed)) return end_incarnation(exit_reason::failed, mine);
    line().begin_end();
    release_what_it_owns();
    finish(exit_reason::failed, &mine, false);
    return turn_result::ended;
  }
  phase_.fetch_and(~between, relaxed);  // [phase] accessed only by the turn
  no_longer(urgent::fail);              // for overflows while it could not make room
  if (type_->on_start == nullptr) {
    move_to(phase::running);
    has_started();
  }
  return {};
}

void control_block::has_started() noexcept {
  if (home_->looked_at) tell_started();
  if (is_supervised()) side_if_any()->again->started();
}

void control_block::tell_started() noexcept {
  const side_block* const its = side_if_any();
  const bool again = its != nullptr && its->objects_begun > 1;
  const observer::actor_event told{where(), name()};
  home().observe([&](observer& to) { again ? to.restarted(told) : to.started(told); });
}

// Discards all messages of users; those of the runtime stay.
void control_block::forget_mailbox(activity& mine) noexcept {
  const sending_rules& bounds = rules();
  const no_answer_scope as(ask_error::failed);
  envelope* first = nullptr;
  envelope** end = &first;
  envelope* last = nullptr;
  unhandled_messages counts;
  const bool is_room_wanted = inbox().refill(bounds.low).room;
  while (inbox().has_ready()) {
    envelope& message = inbox().pop_ready();
    if (message.how->internal && !is_ring_token(message) && !is_wrapped(message) &&
        !is_uncounted(message)) {
      message.next = nullptr;
      last = *end = &message;
      end = &message.next;
      continue;
    }
    (void)inbox().handled(bounds.units(message.how->charge(message), message.how->weight),
                          bounds.quantum);
    discard_unhandled(message, counts);
  }
  if (first != nullptr) inbox().put_in_front(*first, *last);
  give_back_to_budget(counts.bytes);
  (void)mine.count_gone(counts.messages, counts.bytes);
  if (home_->settles_each_turn) settle(*home_, mine);
  if (is_room_wanted) home().pauses().release_waiters_of(*this);
}

// ── A message that failed its actor ───────────────────────────────────────────────────────────

// Once: if it fails again, it fails the actor.
bool control_block::handle_again(envelope& message) noexcept {
  side_block* const its = side_if_any();
  if (!is_supervised() || its->being_retried == &message) return false;
  try {
    its->once_more = &wrap_to_retry(message);
    its->retried_trace = this_turn().trace;
  } catch (...) {
    return false;  // no memory
  }
  count_accepted(*home_, 0);
  return true;
}

void control_block::handle_once_more(envelope& message, void* actor) {
  side_block& its = *side_if_any();
  struct over {
    side_block& its;
    ~over() { its.being_retried = nullptr; }
  } guard{its};
  its.being_retried = &message;
  now_handling(*message.how);
  const unwrapped_scope scope;
  this_turn().trace = its.retried_trace;
  mark_in_place(message, *home_);
  message.how->run(actor, message);
}

bool handle_after_restart(envelope& message) noexcept {
  return this_turn().running->handle_again(message);
}

}  // namespace troupe::detail
