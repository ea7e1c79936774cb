// SPDX-License-Identifier: Apache-2.0
// The end of an actor, in its last turn.
#include <cstdint>
#include <utility>

#include <troupe/actor/control_block.hpp>

#include "bonds.hpp"
#include "drop_ring.hpp"
#include "handler_frame.hpp"
#include "kept_message.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "watching.hpp"

namespace troupe::detail {

namespace {

// Never in a mailbox: what handling() says while these run.
constexpr dispatch on_stop_dispatch{nullptr, nullptr, "on_stop", false, true};
constexpr dispatch ending_handlers_dispatch{nullptr, nullptr,
                                            "the destruction of handlers that waited", false, true};
constexpr dispatch destructor_dispatch{nullptr, nullptr, "its destructor", false, true};
constexpr dispatch discarding_dispatch{nullptr, nullptr, "the discarding of its last messages",
                                       false, true};

}  // namespace

turn_result control_block::end(exit_reason reason, activity& mine) noexcept {
  // What it is told after its end has begun changes nothing any more.
  const bool has_begun = line().now().ending();
  if (has_begun) reason = exit_reason::unreachable;
  const bool again = comes_back(reason);
  if (again) {
    phase_.fetch_or(between, relaxed);  // [phase] the turn's own part
  } else if (!has_begun) {
    line().begin_end();
  }
  // One that comes back has not stopped.
  const exit_reason told = again ? exit_reason::failed : reason;
  end_handlers(told);
  if (reason != exit_reason::failed && type_->on_stop != nullptr &&
      !call(type_->on_stop, on_stop_dispatch)) {
    reason = exit_reason::failed;
  }
  now_handling(destructor_dispatch);
  {
    // The replies that it has kept.
    const no_answer_scope as(reason == exit_reason::failed ? reason : told);
    type_->destroy(object());
  }
  if (again) return end_incarnation(reason, mine);
  end_watches();
  finish(reason, &mine, line().try_end_alone());
  return turn_result::ended;
}

// While the actor is whole: their local objects may use it.
void control_block::end_handlers(exit_reason reason) noexcept {
  side_block* const its = side_if_any();
  if (its == nullptr || its->handlers == nullptr) return;
  now_handling(ending_handlers_dispatch);
  // What they were asked will not be answered.
  const no_answer_scope as(reason);
  destroy_handlers(*its);
}

// Before the lifeline says that it has ended: until then what it waits for comes into its mailbox.
void control_block::end_watches() noexcept {
  if (side_block* const its = side_if_any()) detail::end_watches(*its);
}

// The object is gone; it has sent the last of its messages. Only now does the mailbox close, so
// that a `down` comes after all of them: to who has watched, and to who finds the mailbox closed.
// `alone`: the lifeline says that it has ended, and that nobody can look.
void control_block::finish(exit_reason reason, activity* mine, bool alone) noexcept {
  free_object_memory();
  if (type_->references != nullptr) home().cycles().ended();
  now_handling(discarding_dispatch);
  reason_ = reason;
  const no_answer_scope as(reason);
  put_all_back();  // nobody will handle it: it is among what is left
  side_block* const its = side_if_any();
  if (its != nullptr && its->once_more != nullptr) {
    inbox().put_in_front(*its->once_more, *its->once_more);
    its->once_more = nullptr;
  }
  if (!alone) line().end();
  const mailbox::remains remains = alone ? inbox().close_alone() : inbox().close();
  if (alone && remains.messages != nullptr) {
    // What is discarded runs code of the user's, which may name this actor, and take its time.
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
  if (mine != nullptr) {
    (void)mine->count_gone(counts.messages, counts.bytes);
    if (home_->has_budget) settle(*home_, *mine);
  } else {
    detail::count_foreign(*home_, 0, static_cast<std::int64_t>(counts.messages),
                          -static_cast<std::int64_t>(counts.bytes));
  }

  if (side_if_any() != nullptr) tell_of_end(*this, counts.of_users);
  runtime& home = this->home();
  const bool was_made = mine != nullptr;  // else spawn() throws: there has been no actor
  if (home.looked_at && was_made && !type_->is_hidden) {
    const observer::actor_event told{where(), name()};
    home.observe([&](observer& to) { to.ended(told, reason); });
  }
  // In this order: a pump waits for the end of an actor whose constructor threw elsewhere, and it is
  // retire() that wakes it. Who sees the end may go on to destroy the executor, which waits for
  // retire(), or the system, which waits for actor_ended().
  if (!alone) move_to(phase::ended);
  executor_->retire(*this);
  if (alone || line().let_go()) free_slot();
  home.actor_ended(mine);
}

// It is out of the mailbox. A user's is a dead letter.
void control_block::discard_unhandled(envelope& popped, unhandled_messages& counts) noexcept {
  envelope* message = &popped;
  if (is_ring_token(*message)) {
    message = drop_ring::of(*message).take(*message);
    if (message == nullptr) return;  // it was dropped, and counted
  }
  ++counts.messages;
  std::uint64_t trace = 0;
  if (is_wrapped(*message)) {
    if (is_to_be_retried(*message)) trace = side_if_any()->retried_trace;
    message = unwrap(*message);  // counts for nothing
  } else {
    counts.bytes += message->how->charge(*message);
    if (message->how->most != 0) give_place_back(*message->how);
  }
  if (!message->how->internal) {
    ++counts.of_users;
    dead_letter(*message, trace);
  }
  message->how->discard(*message);
}

}  // namespace troupe::detail
