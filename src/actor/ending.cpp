// SPDX-License-Identifier: Apache-2.0
// The termination of an actor, in its last turn.
#include <cstdint>
#include <utility>

#include <troupe/detail/actor/control_block.hpp>

#include "base/accounts.hpp"
#include "drop_ring.hpp"
#include "handler_frame.hpp"
#include "kept_message.hpp"
#include "overdraft.hpp"
#include "overload.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "termination_notices.hpp"
#include "watching.hpp"

namespace troupe::detail {

namespace {

// Never in a mailbox: handling() returns these while they run.
constexpr dispatch on_stop_dispatch{nullptr, nullptr, "on_stop", false, true};
constexpr dispatch ending_handlers_dispatch{nullptr, nullptr,
                                            "the destruction of suspended handlers", false, true};
constexpr dispatch destructor_dispatch{nullptr, nullptr, "its destructor", false, true};
constexpr dispatch discarding_dispatch{nullptr, nullptr, "the discarding of its last messages",
                                       false, true};

// For an actor whose mailbox is closed and empty.
void expect_settled_side(const side_block& its, const actor_type& type) noexcept {
  if (unsettled_account == nullptr) return;
  for (std::uint16_t i = 0; its.of_type != nullptr && i < type.limited_messages; ++i) {
    expect_settled("messages of a limited type", its.of_type[i].load(relaxed));  // [place]
  }
  expect_settled("units of stashed messages", its.kept_units);
  expect_settled("stashed messages", its.kept != nullptr);
  expect_settled("suspended handlers", its.handlers != nullptr);
  expect_settled("monitors of an actor", its.watches != nullptr);
}

}  // namespace

turn_result control_block::end(exit_reason reason, activity& mine) noexcept {
  // Once termination has begun, later requests to stop change nothing.
  const bool has_begun = line().now().ending();
  if (has_begun) reason = exit_reason::unreachable;
  bool again = comes_back(reason);
  const side_block* const its = side_if_any();
  const bool may_fail_yet =
      reason != exit_reason::failed &&
      (type_->on_stop != nullptr || (its != nullptr && its->handlers != nullptr));
  // If on_stop() or a callback throws, the exit reason changes, and the supervisor is asked again.
  // So the termination of a supervised actor does not begin before that: it could not be undone.
  const bool may_come_back = again || (may_fail_yet && may_have_next_object(reason));
  if (may_come_back) {
    phase_.fetch_or(between, relaxed);  // [phase] accessed only by the turn
  } else if (!has_begun) {
    line().begin_end();
  }
  // An actor that is restarted has not stopped.
  const exit_reason told = again ? exit_reason::failed : reason;
  const bool had_failed = reason == exit_reason::failed;
  if (!had_failed && !end_callbacks()) reason = exit_reason::failed;
  end_handlers(reason == exit_reason::failed ? reason : told);
  if (reason != exit_reason::failed && type_->on_stop != nullptr &&
      !call(type_->on_stop, on_stop_dispatch)) {
    reason = exit_reason::failed;
  }
  if (!had_failed && reason == exit_reason::failed) {
    again = again || comes_back(reason);
  }
  if (may_come_back && !again) {
    phase_.fetch_and(~between, relaxed);  // [phase]
    line().begin_end();
  }
  now_handling(destructor_dispatch);
  {
    // For the replies that it has kept.
    const no_answer_scope as(reason == exit_reason::failed ? reason : told);
    type_->destroy(object());
  }
  if (again) return end_incarnation(reason, mine);
  release_what_it_owns();
  finish(reason, &mine, line().try_end_alone());
  return turn_result::ended;
}

// False if one of them threw; that has been reported.
bool control_block::end_callbacks() noexcept {
  side_block* const its = side_if_any();
  if (its == nullptr || its->handlers == nullptr) return true;
  const no_answer_scope as(exit_reason::stopped);  // for a reply that they release
  try {
    tell_callbacks_of_end(*its);
    return true;
  } catch (...) {
    report_failure(handling()->message);
    return false;
  }
}

// Runs while the actor's object still exists: the handlers' local objects may use it.
void control_block::end_handlers(exit_reason reason) noexcept {
  side_block* const its = side_if_any();
  if (its == nullptr || its->handlers == nullptr) return;
  now_handling(ending_handlers_dispatch);
  // Their requests will not be answered.
  const no_answer_scope as(reason);
  destroy_handlers(*its);
}

// Runs before the lifeline says that the actor has terminated. Its watches: until then, their
// `down`s come into its mailbox. Its incarnations' factory: destroying it runs user code, which
// belongs in this turn and not on the thread that happens to release the last reference.
void control_block::release_what_it_owns() noexcept {
  side_block* const its = side_if_any();
  if (its == nullptr) return;
  detail::end_watches(*its);
  its->again.reset();
}

// The object is gone and has sent its last message. Only now does the mailbox close, so that a
// `down` comes after all of its messages: for watchers, and for senders that find the mailbox
// closed. `alone`: the lifeline says that the actor has terminated and that no other thread can
// look.
void control_block::finish(exit_reason reason, activity* mine, bool alone) noexcept {
  free_object_memory();
  if (type_->references != nullptr) home().cycles().ended();
  now_handling(discarding_dispatch);
  reason_ = reason;
  const no_answer_scope as(reason);
  put_all_back();  // it will not be handled, and counts among the unhandled messages
  side_block* const its = side_if_any();
  if (its != nullptr && its->once_more != nullptr) {
    inbox().put_in_front(*its->once_more, *its->once_more);
    its->once_more = nullptr;
  }
  if (!alone) line().end();
  const mailbox::remains remains = alone ? inbox().close_alone() : inbox().close();
  if (alone && remains.messages != nullptr) {
    // Discarding messages runs user code, which may name this actor and may take long.
    line().hold_again();
    alone = false;
  }
  if (side_if_any() != nullptr) home().timers().cancel_all(*this);
  if (remains.room_wanted) home().pauses().release_waiters_of(*this);

  unhandled_messages counts;
  for (envelope* left = remains.messages; left != nullptr;) {
    discard_unhandled(*std::exchange(left, left->next), counts);
  }
  give_back_to_budget(counts.bytes);
  expect_settled("units of an actor's mailbox",
                 remains.units - static_cast<std::int64_t>(counts.units));
  if (its != nullptr) expect_settled_side(*its, *type_);
  if (mine != nullptr) {
    (void)mine->count_gone(counts.messages, counts.bytes);
    if (home_->settles_each_turn) settle(*home_, *mine);
  } else {
    detail::count_foreign(*home_, 0, static_cast<std::int64_t>(counts.messages),
                          -static_cast<std::int64_t>(counts.bytes));
  }

  if (side_if_any() != nullptr) tell_of_end(*this, counts.of_users);
  runtime& home = this->home();
  home.count_discarded(counts.of_users);
  const bool was_made = mine != nullptr;  // otherwise spawn() throws, and the actor never existed
  if (home.looked_at && was_made && !type_->is_hidden) {
    const observer::actor_event told{where(), name()};
    home.observe([&](observer& to) { to.ended(told, reason); });
  }
  // In this order: a pump waits for the end of an actor whose constructor threw elsewhere, and
  // retire() wakes it. A thread that sees the end may then destroy the executor, which waits for
  // retire(), or the system, which waits for actor_ended().
  if (!alone) move_to(phase::ended);
  executor_->retire(*this);
  if (alone || line().let_go()) free_slot();
  home.actor_ended(mine);
}

// The message has been taken out of the mailbox. A user's message becomes a dead letter.
void control_block::discard_unhandled(envelope& popped, unhandled_messages& counts) noexcept {
  envelope* message = &popped;
  if (is_ring_token(*message)) {
    message = drop_ring::of(*message).take(*message);
    if (message == nullptr) return;  // it was dropped, and counted then
  }
  ++counts.messages;
  if (is_uncounted(*message)) message = &take_out_uncounted(*this, *message);
  std::uint64_t trace = 0;
  if (is_wrapped(*message)) {
    if (is_to_be_retried(*message)) trace = side_if_any()->retried_trace;
    message = unwrap(*message);  // counts for nothing
  } else {
    const std::size_t bytes = message->how->charge(*message);
    counts.bytes += bytes;
    // An envelope that stands for another one in the mailbox weighs nothing there.
    if (message == &popped) counts.units += rules().units(bytes, message->how->weight);
    if (message->how->most != 0) overload(*this).give_place_back(*message->how);
  }
  if (!message->how->internal) {
    ++counts.of_users;
    dead_letter(*message, trace);
  }
  message->how->discard(*message);
}

}  // namespace troupe::detail
