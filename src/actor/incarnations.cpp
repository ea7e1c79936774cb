// SPDX-License-Identifier: Apache-2.0
// One actor, several objects: what lies between the end of one and the making of the next.
#include <troupe/actor/incarnations.hpp>

#include <cstdint>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/system.hpp>

#include "bonds.hpp"
#include "drop_ring.hpp"
#include "kept_message.hpp"
#include "marking.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "watching.hpp"

namespace troupe::detail {

namespace {

// Never in a mailbox: what handling() says.
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

// ── Between two objects ───────────────────────────────────────────────────────────────────────
//
// The mailbox stays busy, so that nobody but who decides gives the actor a turn:
//
//   none       there is an object
//   undecided  there is none: this turn is over
//   begins     decided: the next turn makes one, and goes on as any first turn
//   never      decided: the next turn ends the actor
//
// none → undecided in the turn that ended an object; undecided → begins or never by the first of those
// who decide; begins → none in the next turn.

void control_block::begin_between() noexcept {
  side_block& its = *side_if_any();
  // [phase] relaxed: the turn's own part, and there has been no turn yet. Its pump may have ended.
  phase_.fetch_and(waited_for | for_good, relaxed);
  phase_.fetch_or(static_cast<std::uint32_t>(phase::starting) | between, relaxed);
  now_handling(between_dispatch);
  // [restart] release: as below. [spare] Only the end of its pump may decide before it is handed out, and
  // that is on the thread of its turns.
  its.next.store(next_object::undecided, release);
}

bool control_block::decide(next_object what, exit_reason as) noexcept {
  side_block* const its = side_if_any();
  if (its == nullptr || its->again == nullptr) return false;
  auto now = next_object::undecided;
  // [restart] acquire: the turn that ended the object comes before the one that is asked for here.
  if (!its->next.compare_exchange_strong(now, what, acquire, relaxed)) return false;
  its->ends_as = as;
  executor_->schedule(*this);
  return true;
}

bool control_block::is_supervised() const noexcept {
  const side_block* const its = side_if_any();
  return its != nullptr && its->again != nullptr;
}

void control_block::ends_for_good() noexcept {
  phase_.fetch_or(for_good, relaxed);  // [phase] relaxed: its turns are this thread's
}

bool control_block::comes_back(exit_reason reason) noexcept {
  const side_block* const its = side_if_any();
  return its != nullptr && its->again != nullptr && reason != exit_reason::unreachable &&
         (phase_.load(relaxed) & for_good) == 0 &&  // [phase]
         its->again->comes_back(reason);
}

// The object is gone, and its handlers; what else there was of it goes here. What it was sent stays.
turn_result control_block::end_incarnation(exit_reason reason, activity& mine) noexcept {
  side_block& its = *side_if_any();
  its.exclusive = its.held_up = nullptr;
  // [urgent] relaxed: what was meant for this object. Before the links: one that breaks behind that
  // look is urgent again. What goes first still does.
  urgent_.fetch_and(high_pushed, relaxed);
  unwatch_all(its);
  end_listeners_of_object(its.bonds);
  forget_broken_links(its.bonds);
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
  // [phase] The turn's own part.
  phase_.fetch_and(waited_for | for_good, relaxed);
  phase_.fetch_or(static_cast<std::uint32_t>(phase::starting) | between, relaxed);
  now_handling(between_dispatch);
  const std::string what = std::exchange(its.what, {});
  hold();
  // [restart] release: all of this comes before the turn that somebody decides on from here on.
  its.next.store(next_object::undecided, release);
  its.again->ended(reason, what);
  let_go();
  return turn_result::resting;
}

// Nothing: there is an object, and the turn goes on with it.
std::optional<turn_result> control_block::next_incarnation(activity& mine) noexcept {
  side_block& its = *side_if_any();
  // [restart] relaxed: schedule() has handed it over.
  if (its.next.load(relaxed) == next_object::never) {
    line().begin_end();
    finish(its.ends_as, &mine, false);
    return turn_result::ended;
  }
  its.next.store(next_object::none, relaxed);  // [restart]
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
    end_watches();
    finish(exit_reason::failed, &mine, false);
    return turn_result::ended;
  }
  phase_.fetch_and(~between, relaxed);  // [phase] the turn's own part
  no_longer(urgent::fail);              // for what came when it could not make room
  if (type_->on_start == nullptr) {
    move_to(phase::running);
    has_started();
  }
  return {};
}

void control_block::has_started() noexcept {
  if (home_->looked_at) tell_started();
  if (const side_block* const its = side_if_any(); its != nullptr && its->again != nullptr) {
    its->again->started();
  }
}

void control_block::tell_started() noexcept {
  const side_block* const its = side_if_any();
  const bool again = its != nullptr && its->objects_begun > 1;
  const observer::actor_event told{where(), name()};
  home().observe([&](observer& to) { again ? to.restarted(told) : to.started(told); });
}

// All that users have sent; what the runtime has sent stays.
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
    if (message.how->internal && !is_ring_token(message) && !is_wrapped(message)) {
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
  if (home_->has_budget) settle(*home_, mine);
  if (is_room_wanted) home().pauses().release_waiters_of(*this);
}

// ── A message that failed its actor ───────────────────────────────────────────────────────────

// Once: the second time it is what fails it.
bool control_block::handle_again(envelope& message) noexcept {
  side_block* const its = side_if_any();
  if (its == nullptr || its->again == nullptr || its->being_retried == &message) return false;
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
