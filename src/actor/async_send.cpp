// SPDX-License-Identifier: Apache-2.0
// A message whose handler waits for room, and how it gets into the mailbox.
#include <mutex>
#include <new>
#include <utility>

#include <troupe/actor/sending.hpp>
#include <troupe/base/assert.hpp>
#include <troupe/memory/pool.hpp>

#include "handler_frame.hpp"
#include "observed_messages.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "pauses_walk.hpp"
#include "runtime.hpp"
#include "side_block.hpp"
#include "waiting_send.hpp"

namespace troupe {
namespace detail {

namespace {

// The waiting handler is notified in a turn of its actor.
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

message_in_line::message_in_line(control_block& to, envelope& what, parker* waiting_thread) noexcept
    : receiver(&to),
      message(&what),
      bytes(what.how->charge(what)),
      kind(what.how),
      trace(trace_of(what)),
      thread(waiting_thread) {}

waiting_send::waiting_send(control_block& from, control_block& to, envelope& what, sending& who,
                           handler_frame& frame) noexcept
    : envelope{nullptr, &decided_dispatch},
      message_in_line(to, what, nullptr),
      sender(&from),
      of(&to.home().pauses()),
      awaited(&who),
      handler(&frame) {}

void waiting_send::free() noexcept { free_envelope(*this); }

// ── Into the mailbox ──────────────────────────────────────────────────────────────────────────

taken control_block::take_in(envelope& message, std::size_t bytes, std::uint32_t most) noexcept {
  return take_in_by(message, bytes, [&] {
    return inbox().push(message, rules().units(bytes, message.how->weight), most);
  });
}

taken control_block::take_in_beyond_limit(envelope& message, std::size_t bytes,
                                          bool is_locked) noexcept {
  const taken how =
      take_in_by(message, bytes, [&] { return push_beyond_limit(message, bytes, is_locked); });
  return how == taken::full ? taken::never : how;
}

// `push` puts it into the mailbox.
template <class Push>
taken control_block::take_in_by(envelope& message, std::size_t bytes, Push&& push) noexcept {
  const dispatch& how = *message.how;
  const sending_rules& bounds = rules();
  const overload_rules* const own = own_rules();
  // [budget] relaxed: only a hint.
  if (home_->over_budget.load(relaxed) && bounds.per_message != 0) {
    return is_closed() ? taken::by_nobody : taken::never;
  }
  if (how.most != 0 && !take_place(how)) return taken::never;
  shared_budget* const budget = own != nullptr ? own->budget.get() : nullptr;
  if (budget != nullptr && !budget->charge(bytes)) {
    if (how.most != 0) give_place_back(how);
    return taken::never;
  }
  // As in try_deliver(): once the message is in a busy mailbox, the block must not be accessed;
  // except for a high-priority message, for which the block is held meanwhile.
  system_state& home = *home_;
  if (how.high) hold();
  const mailbox::pushed pushed = push();
  if (how.high) [[unlikely]] {
    if (pushed == mailbox::pushed::to_busy) tell_high();
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

// Policies other than backpressure do at once what they do with any message beyond the limit.
offered control_block::offer(envelope& message) noexcept {
  control_block* to = routed(message);
  if (to == nullptr) return {.became = refuse_by_router(message)};
  envelope* onwards = &marked(message, *to->home_);
  for (bool may_redirect = true;; may_redirect = false) {
    const overload_rules* const own = to->own_rules();
    const auto policy = own != nullptr ? own->policy : overflow::policy::backpressure;
    const bool waits = policy == overflow::policy::backpressure;
    const bool redirects = policy == overflow::policy::redirect;
    if (!waits && !(redirects && may_redirect)) {
      return {.became = to->send_within(*onwards, onwards->how->charge(*onwards), false)};
    }
    const side_block* const its = waits ? to->side_if_any() : nullptr;
    const bool has_line = its != nullptr && its->has_line.load(relaxed);  // [line]
    const dispatch& kind = *onwards->how;
    const std::uint64_t trace = trace_of(*onwards);
    const std::size_t bytes = kind.charge(*onwards);
    if (to->home_->looked_at) to->hold();  // for longer than the message
    const taken how = has_line ? taken::full : to->take_in(*onwards, bytes, to->rules().soft);
    if (how == taken::by_idle) to->executor_->schedule(*to);
    if (to->home_->looked_at) [[unlikely]] {
      if (how == taken::by_idle || how == taken::by_busy) to->tell_sent(kind, trace);
      to->let_go();
    }
    switch (how) {
      case taken::by_idle:
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
    // It waits there, if that is the target's policy.
    onwards = to->redirected(*own->target, *onwards);
    if (onwards == nullptr) return {.became = delivery::refused};
    to = own->target->to;
  }
}

// ── The line ──────────────────────────────────────────────────────────────────────────────────

// Call under the mutex.
void pauses::unlink(message_in_line& one) noexcept {
  side_block& its = *one.receiver->side_if_any();
  (one.earlier != nullptr ? one.earlier->later : its.line) = one.later;
  (one.later != nullptr ? one.later->earlier : its.line_end) = one.earlier;
  if (its.line == nullptr) its.has_line.store(false, relaxed);  // [line]
  one.in_line = false;
  count_in(one, -1);
  if (one.blocks == nullptr) return;
  waits_of_all& all = waits_of_all::here();
  all.parked.remove(one.search);
  std::exchange(one.blocks, nullptr)->side_if_any()->blocking_line = nullptr;
  --all.blocking_in_line;
  all.suspended.fetch_sub(1, relaxed);  // [suspended] relaxed: it no longer waits
}

taken pauses::line_up(message_in_line& one, control_block* sender) noexcept {
  control_block& to = *one.receiver;
  side_block& its = *to.side_if_any();
  waits_of_all& all = waits_of_all::here();
  bool is_cycle = false;
  bool is_parked = false;
  taken how = taken::full;
  {
    walk along;
    const std::lock_guard lock(all.guard);
    along.begin_slice();
    // If there is a line, the mailbox is marked, or its reader is on its way to let the line in.
    if (its.line == nullptr) {
      how = to.take_in(*one.message, one.bytes, to.rules().soft);
      if (how != taken::full) return how;
      // The mark is set under the same mutex as the entry: a reader that finds the mark finds the
      // entry. A mailbox that is half empty has room for a message that alone exceeds the limit.
      if (!to.want_room()) return to.take_in_beyond_limit(*one.message, one.bytes, true);
    }
    if (sender != nullptr) {
      // [suspended] seq_cst: see leads_to().
      all.suspended.fetch_add(1, seq_cst);
      const walk::found what = along.leads_to(to, *sender);
      is_cycle = what == walk::found::cycle;
      if (is_cycle) {
        all.suspended.fetch_sub(1, relaxed);  // [suspended] relaxed: it does not wait
        how = to.take_in_beyond_limit(*one.message, one.bytes, true);
      } else {
        one.blocks = sender;
        one.number = ++all.waits_begun;
        sender->side_if_any()->blocking_line = &one;
        ++all.blocking_in_line;
        is_parked = what == walk::found::unfinished;
        if (is_parked) all.parked.park(one.search, *sender, one.number);
      }
    }
    if (!is_cycle) append(one, its);
  }
  if (is_cycle) to.count_without_message(overload_event::kind::wait_cycle);
  if (is_parked) all.parked.go_on(sender->home().conducted_by() != nullptr);
  return how;
}

// Call under the mutex. A waiting thread counts as a suspended sender.
void pauses::count_in(const message_in_line& one, int more) noexcept {
  atomic<std::uint64_t>& those = one.thread != nullptr ? waiting_ : in_lines_;
  // [waiting] [unchecked]
  those.store(those.load(relaxed) + static_cast<std::uint64_t>(more), troupe::release);
}

// Call under the mutex.
void pauses::append(message_in_line& one, side_block& its) noexcept {
  one.earlier = std::exchange(its.line_end, &one);
  (one.earlier != nullptr ? one.earlier->later : its.line) = &one;
  its.has_line.store(true, relaxed);  // [line]
  one.in_line = true;
  count_in(one, 1);
}

bool pauses::leave_line(message_in_line& one) noexcept {
  const std::lock_guard lock(waits_of_all::here().guard);
  if (!one.in_line) return false;
  unlink(one);
  return true;
}

// Takes the first message out of the line, and says what became of it. Null: the line is empty, or
// there is no more room. The message goes into the mailbox under the mutex. So with leave_line()
// its sender's turn knows that the message precedes everything that this turn does next, or is
// never delivered.
message_in_line* pauses::next_let_in(control_block& receiver, taken& how) noexcept {
  const std::lock_guard lock(waits_of_all::here().guard);
  const side_block* const its = receiver.side_if_any();
  if (its == nullptr || its->line == nullptr) return nullptr;
  message_in_line& first = *its->line;
  how = receiver.take_in(*first.message, first.bytes, receiver.rules().soft);
  if (how == taken::full) {
    if (receiver.want_room()) return nullptr;
    how = receiver.take_in_beyond_limit(*first.message, first.bytes, true);
  }
  unlink(first);
  return &first;
}

// Called by the receiver's reader, so it is never `by_idle`. Stops when the mailbox is full again.
void pauses::let_line_in(control_block& receiver) noexcept {
  taken how{};
  while (message_in_line* const one = next_let_in(receiver, how)) decided(*one, how);
}

// The message is out of the line: notifies the waiter.
void pauses::decided(message_in_line& one, taken how) noexcept {
  control_block& receiver = *one.receiver;
  if (how == taken::by_idle) receiver.runs_on().schedule(receiver);
  if (how == taken::by_idle || how == taken::by_busy) {
    one.became = delivery::accepted;
    receiver.tell_taken(*one.kind, one.trace);
  } else {
    one.became = receiver.not_taken(how, *one.message);
  }
  if (one.thread != nullptr) {
    (void)one.thread->notify();  // the thread continues: the entry must not be accessed
    return;
  }
  auto& handler = static_cast<waiting_send&>(one);
  control_block& sender = *handler.sender;
  // The message tells the handler the result; if the handler has been destroyed, it is not read.
  if (!sender.try_deliver(handler)) handler.free();
  sender.let_go();
  receiver.let_go();
}

}  // namespace detail

// ── The handler's side ────────────────────────────────────────────────────────────────────────

bool sending::is_decided() noexcept {
  detail::envelope* const message = std::exchange(message_, nullptr);
  TROUPE_EXPECTS(message != nullptr, "the result of async_send() was awaited twice");
  const detail::turn_context& here = detail::this_turn();
  if (detail::control_block* const chosen = to_->routed(*message)) to_ = chosen;
  if (here.running == to_ && here.coroutine->takes_nothing) {
    // Nothing can make room here before this handler continues.
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
  if (who.takes_nothing) (void)me.side();
  void* const block = pool_allocate(sizeof(detail::waiting_send), alignof(detail::waiting_send));
  waits_ = ::new (block) detail::waiting_send(me, to, *message_, *this, who);
  me.hold();
  to.hold();
  const taken how = waits_->of->line_up(*waits_, who.takes_nothing ? &me : nullptr);
  if (how == taken::full) {
    message_ = nullptr;
    return true;
  }
  detail::envelope& message = *std::exchange(message_, nullptr);
  if (how == taken::by_idle) to.runs_on().schedule(to);
  if (how == taken::by_idle || how == taken::by_busy) {
    became_ = delivery::accepted;
    to.tell_taken(*waits_->kind, waits_->trace);
  } else {
    became_ = to.not_taken(how, message);
  }
  std::exchange(waits_, nullptr)->free();
  to.let_go();
  me.let_go();
  return false;
}

// It was not awaited, or is destroyed with its handler.
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
