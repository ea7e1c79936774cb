// SPDX-License-Identifier: Apache-2.0
#include "kept_message.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <troupe/detail/memory/pool.hpp>

#include "observed_messages.hpp"
#include "overdraft.hpp"
#include "side_block.hpp"

namespace troupe::detail {

namespace {

struct wrapping : envelope {
  envelope* inner = nullptr;
};

void run_wrapped(void* actor, envelope& e) {
  envelope& message = *unwrap(e);
  this_turn().running->now_handling(*message.how);
  const unwrapped_scope scope;
  message.how->run(actor, message);
}

void discard_wrapped(envelope& e) noexcept {
  envelope& message = *unwrap(e);
  message.how->discard(message);
}

void run_to_retry(void* actor, envelope& e) {
  this_turn().running->handle_once_more(*unwrap(e), actor);
}

constexpr dispatch retry_dispatch{.run = run_to_retry,
                                  .discard = discard_wrapped,
                                  .message = "a message that failed its actor",
                                  .internal = true,
                                  .high = true};  // before all others
constexpr dispatch wrapped_dispatch{.run = run_wrapped,
                                    .discard = discard_wrapped,
                                    .message = "a message that was kept",
                                    .internal = true};
constexpr dispatch high_wrapped_dispatch{.run = run_wrapped,
                                         .discard = discard_wrapped,
                                         .message = "a high message that was kept",
                                         .internal = true,
                                         .high = true};

}  // namespace

bool is_wrapped(const envelope& message) noexcept {
  return message.how == &wrapped_dispatch || message.how == &high_wrapped_dispatch ||
         message.how == &retry_dispatch;
}

bool is_to_be_retried(const envelope& message) noexcept { return message.how == &retry_dispatch; }

envelope* unwrap(envelope& message) noexcept {
  if (!is_wrapped(message)) return nullptr;
  auto& outer = static_cast<wrapping&>(message);
  envelope* const inner = outer.inner;
  free_envelope(outer);
  return inner;
}

envelope& wrap(envelope& message) {
  auto* const outer = ::new (pool_allocate(sizeof(wrapping))) wrapping;
  outer->how = message.how->high ? &high_wrapped_dispatch : &wrapped_dispatch;
  outer->inner = &message;
  return *outer;
}

envelope& wrap_to_retry(envelope& message) {
  envelope& outer = wrap(message);
  outer.how = &retry_dispatch;
  return outer;
}

void control_block::keep(envelope& message) {
  turn_context& here = this_turn();
  (void)side();
  if (here.uncounted != nullptr) {  // it stays uncounted
    uncounted_message& outer = *std::exchange(here.uncounted, nullptr);
    outer.inner = &marked(message, *home_);
    put_aside(outer);
    here.after |= after::keep;
  } else if (here.unwrapped) {
    put_aside(wrap(marked(message, *home_)));
    count_accepted(*home_, 0);
  } else {
    put_aside(marked(message, *home_));
    here.after |= after::keep;
  }
}

void control_block::put_aside(envelope& message) noexcept {
  side_block& its = *side_if_any();
  message.next = nullptr;
  (its.kept_last != nullptr ? its.kept_last->next : its.kept) = &message;
  its.kept_last = &message;
}

bool control_block::keeps_any() const noexcept {
  const side_block* const its = side_if_any();
  return its != nullptr && its->kept != nullptr;
}

void control_block::handle_kept_again() noexcept {
  side_block* const its = side_if_any();
  if (its == nullptr || its->kept == nullptr) return;
  // No message that is stashed has to be handled at once.
  if (has_examined()) its->examined_units += its->kept_units;
  its->kept_units = 0;
  inbox().put_in_front(*std::exchange(its->kept, nullptr), *std::exchange(its->kept_last, nullptr));
}

// They are older than all others on the reader's list, and newer than the stashed ones.
void control_block::put_examined_aside(side_block& its) noexcept {
  envelope& last = *its.examined_last;
  envelope* const rest = std::exchange(last.next, nullptr);
  envelope* const first = inbox().exchange_ready(rest);
  (its.kept_last != nullptr ? its.kept_last->next : its.kept) = first;
  its.kept_last = &last;
  its.kept_units += its.examined_units;
  forget_examined(its);
}

// Called for each message that is taken from the reader's list while has_examined().
void control_block::took_examined(const envelope& message, std::size_t units) noexcept {
  side_block& its = *side_if_any();
  // A message's weight may have changed in transit.
  its.examined_units -= std::min(its.examined_units, static_cast<std::uint32_t>(units));
  if (&message == its.examined_last) forget_examined(its);
}

void control_block::forget_examined(side_block& its) noexcept {
  its.examined_last = nullptr;
  its.examined_units = 0;
  phase_.fetch_and(~examined, relaxed);  // [phase] accessed only by the turn
}

}  // namespace troupe::detail
