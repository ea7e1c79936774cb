// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/task.hpp>

#include <exception>
#include <utility>

#include <troupe/actor/ask_future.hpp>
#include <troupe/actor/request.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/message/envelope.hpp>

#include "handler_frame.hpp"

#include "side_block.hpp"

namespace troupe::detail {

namespace {

void link(handler_frame& frame, side_block& its) noexcept {
  frame.next = std::exchange(its.handlers, &frame);
  if (frame.next != nullptr) frame.next->previous = &frame;
}

void unlink(handler_frame& frame, side_block& its) noexcept {
  (frame.previous != nullptr ? frame.previous->next : its.handlers) = frame.next;
  if (frame.next != nullptr) frame.next->previous = frame.previous;
}

// The requester, if there is one, is notified that there will be no reply.
void destroy(handler_frame& frame) noexcept {
  request* const asked = std::exchange(frame.asked, nullptr);
  frame.coroutine.destroy();
  if (asked != nullptr) asked->how->discard(*asked);
}

// The handler is in no list, and has returned or thrown.
void end_handler(handler_frame& frame) {
  if (const std::exception_ptr failed = std::move(frame.failed)) {
    const no_answer_scope as(ask_error::failed);
    this_turn().trace = frame.trace;
    destroy(frame);
    std::rethrow_exception(failed);
  }
  struct destroy_at_the_end {
    handler_frame& frame;
    ~destroy_at_the_end() { destroy(frame); }
  } guard{frame};
  if (frame.asked == nullptr) return;
  const no_answer_scope as(ask_error::failed);  // moving the reply may throw
  frame.answer(frame, *frame.asked);
  frame.asked = nullptr;
}

// Runs until it waits for a message, or has finished. A task that it awaits begins and ends in this
// loop.
void run(handler_frame& frame) {
  turn_context& here = this_turn();
  handler_frame* const before = std::exchange(here.coroutine, &frame);
  const std::uint64_t trace_before = std::exchange(here.trace, frame.trace);
  do {
    frame.goes_on = false;
    frame.innermost.resume();
  } while (frame.goes_on);
  here.coroutine = before;
  here.trace = trace_before;
}

}  // namespace

void start_handler(handler_frame& frame) {
  control_block& me = *this_turn().running;
  frame.how = me.handling();
  frame.trace = this_turn().trace;
  frame.followed = frame.takes_nothing || (frame.asked != nullptr && frame.asked->from.number != 0);
  run(frame);
  if (frame.coroutine.done()) return end_handler(frame);
  // Whatever it waits for resumes it in a later turn, so its state is unchanged here.
  try {
    link(frame, me.side());
  } catch (...) {
    const no_answer_scope as(ask_error::failed);
    destroy(frame);
    throw;
  }
  if (frame.exclusive) me.begin_exclusive(frame);
}

void resume_handler(handler_frame& frame) {
  control_block& me = *this_turn().running;
  side_block& its = *me.side_if_any();
  if (its.exclusive != nullptr && its.exclusive != &frame) {
    if (std::exchange(frame.held_up, true)) return;
    frame.held_up_next = nullptr;
    (its.held_up != nullptr ? its.held_up_last->held_up_next : its.held_up) = &frame;
    its.held_up_last = &frame;
    return;
  }
  me.now_handling(*frame.how);
  run(frame);
  if (!frame.coroutine.done()) return;
  unlink(frame, its);
  if (frame.exclusive) me.end_exclusive();
  end_handler(frame);
}

void resume_held_up() {
  side_block& its = *this_turn().running->side_if_any();
  while (its.exclusive == nullptr && its.held_up != nullptr) {
    handler_frame& next = *std::exchange(its.held_up, its.held_up->held_up_next);
    next.held_up = false;
    resume_handler(next);
  }
}

void tell_callbacks_of_end(side_block& of) {
  of.exclusive = of.held_up = nullptr;  // exclusive handlers are not resumed either
  handler_frame* each = of.handlers;
  while (each != nullptr && each->next != nullptr) each = each->next;
  for (handler_frame* newer = nullptr; each != nullptr; each = newer) {
    newer = each->previous;
    if (each->callback == nullptr) continue;
    unlink(*each, of);
    this_turn().running->now_handling(*each->how);
    // A callback that was held up has its result.
    if (each->callback->now == waiter::state::waiting) each->callback->now = waiter::state::ended;
    run(*each);
    end_handler(*each);
  }
}

void destroy_handlers(side_block& of) noexcept {
  of.held_up = nullptr;
  while (of.handlers != nullptr) {
    handler_frame& each = *of.handlers;
    unlink(each, of);
    destroy(each);
  }
}

void control_block::begin_exclusive(handler_frame& handler) noexcept {
  side_block& its = *side_if_any();
  its.exclusive = &handler;
  phase_.fetch_or(exclusive, relaxed);  // [phase] accessed only by the turn
  if (has_examined()) put_examined_aside(its);
  this_turn().after |= after::exclusive;
}

void control_block::end_exclusive() noexcept {
  side_block& its = *side_if_any();
  its.exclusive = nullptr;
  phase_.fetch_and(~exclusive, relaxed);  // [phase] accessed only by the turn
  if (its.kept != nullptr) {
    its.examined_last = its.kept_last;
    phase_.fetch_or(examined, relaxed);  // [phase] accessed only by the turn
    handle_kept_again();
  }
  this_turn().after |= after::exclusive;
}

}  // namespace troupe::detail
