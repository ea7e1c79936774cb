// SPDX-License-Identifier: Apache-2.0
// The messages of a batch after its first one: removed from the mailbox, and counted.
#include <troupe/detail/message/batches.hpp>

#include <troupe/detail/actor/control_block.hpp>

#include "drop_ring.hpp"
#include "observed_messages.hpp"
#include "overload.hpp"
#include "overload_rules.hpp"
#include "pauses.hpp"
#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe::detail {

envelope* followers::take(std::size_t most) noexcept {
  const turn_context& here = this_turn();
  // A message from a timer or a topic, or one that belongs to a trace, is handled alone: the next
  // ones differ.
  if (here.comes_alone || here.trace != 0) return nullptr;
  return here.running->take_next(how_, most, counts_);
}

void followers::count() noexcept { this_turn().running->handled_too(how_, counts_, all_done_); }

inline envelope& control_block::pop_next() noexcept {
  envelope& message = inbox().pop_ready();
  if (has_examined()) [[unlikely]]
    took_examined(message, rules().units(message.how->charge(message), message.how->weight));
  return message;
}

// Only takes what the turn has already taken from the mailbox. For newer messages, and for urgent
// ones, the turn looks first.
inline envelope* control_block::next_of(const dispatch& how) noexcept {
  const std::uint8_t now = urgent_.load(relaxed);  // [urgent]
  if ((now & ~high_sorted) != 0) return nullptr;
  if (inbox().has_ready()) {
    const envelope& next = inbox().first_ready();
    if (next.how == &how) return &pop_next();
    if (is_marked_as(next, how)) return &unmarked(pop_next());
    if (!is_ring_token(next)) return nullptr;
    envelope& token = pop_next();
    envelope* const message = drop_ring::of(token).take_if(token, how);
    if (message != nullptr) return &unmarked(*message);
    inbox().put_in_front(token, token);
    return nullptr;
  }
  if (now != high_sorted) return nullptr;
  sorted_messages& sorted = side_if_any()->sorted;
  if (sorted.next().how != &how && !is_marked_as(sorted.next(), how)) return nullptr;
  envelope* const message = &unmarked(sorted.pop());
  if (sorted.empty())
    urgent_.fetch_and(static_cast<std::uint8_t>(~high_sorted), relaxed);  // [high]
  return message;
}

envelope* control_block::take_next(const dispatch& how, std::size_t most,
                                   handled_messages& counts) noexcept {
  const sending_rules& bounds = rules();
  // In a ring, the mailbox itself counts only the tokens, which weigh nothing.
  const overload_rules* const own = own_rules();
  const bool in_ring = own != nullptr && own->ring != nullptr;
  envelope* list = nullptr;
  envelope** end = &list;
  while (counts.messages < most) {
    envelope* const message = next_of(how);
    if (message == nullptr) break;
    const std::size_t charge = how.charge(*message);
    ++counts.messages;
    counts.bytes += charge;
    if (!in_ring) counts.units += bounds.units(charge, how.weight);
    if (how.most != 0) overload(*this).give_place_back(how);
    *end = message;
    end = &message->next;
  }
  *end = nullptr;
  if (home_->looked_at) tell_of_batch(how, counts.messages, &observer::begun);
  return list;
}

void control_block::tell_of_batch(const dispatch& how, std::size_t messages,
                                  void (observer::*what)(const observer::message_event&)) noexcept {
  const observer::message_event told{where(), name(), how.message, this_turn().trace};
  home().observe([&](observer& to) {
    for (std::size_t i = 0; i < messages; ++i) (to.*what)(told);
  });
}

void control_block::handled_too(const dispatch& how, const handled_messages& counts,
                                bool done) noexcept {
  if (home_->looked_at && done) tell_of_batch(how, counts.messages, &observer::done);
  turn_context& here = this_turn();
  here.after |= after::batch;
  here.handled_too = counts.messages;
  give_back_to_budget(counts.bytes);
  give_back_to_overdraft(counts.bytes);
  count_gone(*home_, counts.messages, counts.bytes);
  const sending_rules& bounds = rules();
  if (inbox().handled(counts.units, bounds.quantum) && inbox().make_room(bounds.low)) {
    home().pauses().release_waiters_of(*this);
  }
}

}  // namespace troupe::detail
