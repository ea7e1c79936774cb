// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/task.hpp>

#include <exception>
#include <utility>

#include <troupe/actor/control_block.hpp>

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

// It is in no list, and has returned or thrown.
void end_handler(handler_frame& frame) {
  const std::exception_ptr failed = std::move(frame.failed);
  frame.coroutine.destroy();
  if (failed != nullptr) std::rethrow_exception(failed);
}

}  // namespace

void start_handler(handler_frame& frame) {
  control_block& me = *this_turn().running;
  frame.how = me.handling();
  frame.coroutine.resume();
  if (frame.coroutine.done()) return end_handler(frame);
  // What it waits for goes on in a later turn, so it is still as it was.
  try {
    link(frame, me.side());
  } catch (...) {
    frame.coroutine.destroy();
    throw;
  }
}

void resume_handler(handler_frame& frame) {
  control_block& me = *this_turn().running;
  me.now_handling(*frame.how);
  frame.coroutine.resume();
  if (!frame.coroutine.done()) return;
  unlink(frame, *me.side_if_any());
  end_handler(frame);
}

void destroy_handlers(side_block& of) noexcept {
  while (of.handlers != nullptr) {
    handler_frame& each = *of.handlers;
    unlink(each, of);
    each.coroutine.destroy();
  }
}

}  // namespace troupe::detail
