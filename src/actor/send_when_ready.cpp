// SPDX-License-Identifier: Apache-2.0
// A message that waits for room in a handler's hand, and how it comes into the mailbox.
#include <mutex>
#include <new>
#include <utility>

#include <troupe/actor/sending.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/memory/pool.hpp>

#include "handler_frame.hpp"
#include "marking.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "waiting_send.hpp"

namespace troupe {
namespace detail {

namespace {

// Whoever waited is told in a turn of his own.
void run_decided(void*, envelope& e) {
  auto& one = static_cast<waiting_send&>(e);
  sending* const awaited = one.awaited;
  handler_frame& handler = *one.handler;
  if (awaited != nullptr) awaited->decided(one.became);
  one.free();
  if (awaited != nullptr) resume_handler(handler);
}

void discard_decided(envelope& e) noexcept {
  auto& one = static_cast<waiting_send&>(e);
  TROUPE_ASSERT(one.awaited == nullptr, "a handler outlives its actor");
  one.free();
}

constexpr dispatch decided_dispatch{.run = run_decided,
                                    .discard = discard_decided,
                                    .message = "what became of a message that waited",
                                    .internal = true,
                                    .at_once = true};

}  // namespace

waiting_send::waiting_send(control_block& from, control_block& to, envelope& what, sending& who,
                           handler_frame& frame) noexcept
    : envelope{nullptr, &decided_dispatch},
      sender(&from),
      receiver(&to),
      of(&to.home().pauses()),
      message(&what),
      awaited(&who),
      handler(&frame) {}

void waiting_send::free() noexcept { free_envelope(*this); }

// ── Into the mailbox ──────────────────────────────────────────────────────────────────────────

taken control_block::take_in(envelope& message, std::uint32_t most) noexcept {
  const dispatch& how = *message.how;
  const std::size_t bytes = how.charge(message);
  const sending_rules& bounds = rules();
  const overload_rules* const own = own_rules();
  // [budget] relaxed: only a look.
  if (home_->over_budget.load(relaxed) && bounds.per_message != 0) {
    return is_closed() ? taken::by_nobody : taken::never;
  }
  if (how.most != 0 && !take_place(how)) return taken::never;
  shared_budget* const budget = own != nullptr ? own->budget.get() : nullptr;
  if (budget != nullptr && !budget->charge(bytes)) {
    if (how.most != 0) give_place_back(how);
    return taken::never;
  }
  // As in try_deliver(): once it is in a busy mailbox, nothing of the block is touched; but for a high one,
  // which holds it so long.
  system_state& home = *home_;
  const std::uint64_t trace = trace_of(message);
  const bool holds = how.high || home.looked_at;
  if (holds) hold();
  const mailbox::pushed pushed = inbox().push(message, bounds.units(bytes, how.weight), most);
  if (holds) [[unlikely]] {
    if (how.high && pushed == mailbox::pushed::to_busy) tell_high();
    if (home.looked_at && pushed < mailbox::pushed::closed) tell_sent(how, trace);
    let_go();
  }
  if (pushed < mailbox::pushed::closed) {
    count_accepted(home, bytes);
    return pushed == mailbox::pushed::to_idle ? taken::by_idle : taken::by_busy;
  }
  if (how.most != 0) give_place_back(how);
  if (budget != nullptr) budget->release(bytes);
  return pushed == mailbox::pushed::closed ? taken::by_nobody : taken::full;
}

delivery control_block::not_taken(taken why, envelope& message) noexcept {
  return why == taken::by_nobody ? refuse(message) : overflow(message, false);
}

// Other policies than to pause do at once what they do with one message too many.
offered control_block::offer(envelope& message) noexcept {
  control_block* to = routed(message);
  if (to == nullptr) return {.became = refuse_by_router(message)};
  envelope* onwards = &marked(message, *to->home_);
  for (bool may_redirect = true;; may_redirect = false) {
    const overload_rules* const own = to->own_rules();
    const auto policy = own != nullptr ? own->policy : overload::policy::pause_senders;
    const bool waits = policy == overload::policy::pause_senders;
    const bool redirects = policy == overload::policy::redirect;
    if (!waits && !(redirects && may_redirect)) {
      return {.became = to->send_within(*onwards, onwards->how->charge(*onwards), false)};
    }
    const side_block* const its = waits ? to->side_if_any() : nullptr;
    const bool has_line = its != nullptr && its->has_line.load(relaxed);  // [line]
    const taken how = has_line ? taken::full : to->take_in(*onwards, to->rules().soft);
    switch (how) {
      case taken::by_idle:
        to->executor_->schedule(*to);
        [[fallthrough]];
      case taken::by_busy:
        return {};
      case taken::by_nobody:
        return {.became = to->refuse(*onwards)};
      case taken::full:
        if (waits) return {.receiver = to, .message = onwards};
        break;
      case taken::never:
        if (waits) return {.became = to->overflow(*onwards, false)};
        break;
    }
    // There it waits, if that is what the target does.
    onwards = to->redirected(*own->target, *onwards);
    if (onwards == nullptr) return {.became = delivery::refused};
    to = own->target->to;
  }
}

// ── The line ──────────────────────────────────────────────────────────────────────────────────

namespace {

// In a mailbox that is half empty there is room for a large message too: what senders that pause may
// use, up to the hard limit.
taken take_in_half_empty(control_block& to, envelope& message) noexcept {
  const sending_rules& bounds = to.rules();
  const taken how = to.take_in(message, bounds.hard);
  if (how != taken::full) return how;
  const dispatch& as = *message.how;
  const bool fits = bounds.units(as.charge(message), as.weight) <= bounds.hard - bounds.low;
  return fits ? taken::full : taken::never;
}

}  // namespace

// Under the mutex.
void pauses::unlink(waiting_send& one) noexcept {
  side_block& its = *one.receiver->side_if_any();
  (one.earlier != nullptr ? one.earlier->later : its.line) = one.later;
  (one.later != nullptr ? one.later->earlier : its.line_end) = one.earlier;
  if (its.line == nullptr) its.has_line.store(false, relaxed);  // [line]
  one.in_line = false;
  --in_lines_;
}

taken pauses::line_up(waiting_send& one) noexcept {
  control_block& to = *one.receiver;
  side_block& its = *to.side_if_any();
  const std::lock_guard lock(mutex_);
  // Where there is a line, its mailbox is marked, or its reader is on its way to let them in.
  while (its.line == nullptr) {
    taken how = to.take_in(*one.message, to.rules().soft);
    if (how != taken::full) return how;
    // The mark comes under the same mutex as the entry: a reader that finds the mark finds the entry.
    if (to.want_room()) break;
    how = take_in_half_empty(to, *one.message);
    if (how != taken::full) return how;
  }
  one.earlier = std::exchange(its.line_end, &one);
  (one.earlier != nullptr ? one.earlier->later : its.line) = &one;
  its.has_line.store(true, relaxed);  // [line]
  one.in_line = true;
  ++in_lines_;
  return taken::full;
}

bool pauses::leave_line(waiting_send& one) noexcept {
  const std::lock_guard lock(mutex_);
  if (!one.in_line) return false;
  unlink(one);
  return true;
}

std::uint64_t pauses::in_lines() const noexcept {
  const std::lock_guard lock(mutex_);
  return in_lines_;
}

// The first of the line, and what became of it. Null: there is none, or no more room. The message goes
// into the mailbox under the mutex: with leave_line() its sender's turn knows that it comes before all
// that this turn does next, or never.
waiting_send* pauses::next_let_in(control_block& receiver, taken& how) noexcept {
  const std::lock_guard lock(mutex_);
  const side_block* const its = receiver.side_if_any();
  if (its == nullptr || its->line == nullptr) return nullptr;
  waiting_send& first = *its->line;
  how = receiver.take_in(*first.message, receiver.rules().soft);
  while (how == taken::full) {
    if (receiver.want_room()) return nullptr;
    how = take_in_half_empty(receiver, *first.message);
  }
  unlink(first);
  return &first;
}

// From the receiver's reader, so that it is never `by_idle`. Ends when it is full again.
void pauses::let_line_in(control_block& receiver) noexcept {
  taken how{};
  while (waiting_send* const one = next_let_in(receiver, how)) {
    one->became =
        how == taken::by_busy ? delivery::accepted : receiver.not_taken(how, *one->message);
    control_block& sender = *one->sender;
    // It brings the handler the answer; if there is no handler any more, nobody reads it.
    if (!sender.try_deliver(*one)) one->free();
    sender.let_go();
    receiver.let_go();
  }
}

}  // namespace detail

// ── The handler's ─────────────────────────────────────────────────────────────────────────────

bool sending::is_decided() noexcept {
  detail::envelope* const message = std::exchange(message_, nullptr);
  TROUPE_EXPECTS(message != nullptr, "what send_when_ready() returned was awaited twice");
  const detail::turn_context& here = detail::this_turn();
  if (detail::control_block* const chosen = to_->routed(*message)) to_ = chosen;
  if (here.running == to_ && here.coroutine->exclusive) {
    // Nothing makes room here before it goes on.
    became_ = to_->send(*message);
    return true;
  }
  const detail::offered now = to_->offer(*message);
  if (now.receiver == nullptr) {
    became_ = now.became;
    return true;
  }
  to_ = now.receiver;
  message_ = now.message;
  return false;
}

bool sending::wait(detail::handler_frame& who) {
  using detail::taken;
  detail::control_block& me = *detail::this_turn().running;
  detail::control_block& to = *to_;
  (void)to.side();
  void* const block = pool_allocate(sizeof(detail::waiting_send), alignof(detail::waiting_send));
  waits_ = ::new (block) detail::waiting_send(me, to, *message_, *this, who);
  me.hold();
  to.hold();
  const taken how = waits_->of->line_up(*waits_);
  if (how == taken::full) {
    message_ = nullptr;
    return true;
  }
  std::exchange(waits_, nullptr)->free();
  detail::envelope& message = *std::exchange(message_, nullptr);
  if (how == taken::by_idle) to.runs_on().schedule(to);
  became_ = how == taken::by_idle || how == taken::by_busy ? delivery::accepted
                                                           : to.not_taken(how, message);
  to.let_go();
  me.let_go();
  return false;
}

// Not awaited, or destroyed with its handler.
void sending::give_up() noexcept {
  if (message_ != nullptr) message_->how->discard(*message_);
  if (waits_ == nullptr) return;
  waits_->awaited = nullptr;
  if (!waits_->of->leave_line(*waits_)) return;  // it is on its way here, and freed on arrival
  detail::control_block& me = *waits_->sender;
  detail::control_block& to = *waits_->receiver;
  waits_->message->how->discard(*waits_->message);
  waits_->free();
  to.let_go();
  me.let_go();
}

}  // namespace troupe
