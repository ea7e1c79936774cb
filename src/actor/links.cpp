// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <troupe/actor/told_of_ends.hpp>
#include <troupe/memory/pool.hpp>

#include "side_block.hpp"
#include "termination_notices.hpp"

namespace troupe::detail {

/// The message for on(link_down), allocated together with the link.
struct link_message : envelope {
  using envelope::envelope;
  address who;
  exit_reason reason = exit_reason::unknown;
  std::shared_ptr<const std::string> what;
};

namespace {

constexpr dispatch quiet_dispatch{
    .run = nullptr, .discard = discard_link_down, .message = "link_down", .internal = true};

struct free_message {
  void operator()(link_message* one) const noexcept { free_link_message(one); }
};
using message_ptr = std::unique_ptr<link_message, free_message>;

// Null if the actor's class has no on(link_down).
message_ptr make_message(control_block& of) {
  if (of.type().on_link_down == nullptr) return nullptr;
  void* const block = pool_allocate(sizeof(link_message), alignof(link_message));
  auto* const one = ::new (block) link_message;
  one->how = &quiet_dispatch;
  return message_ptr(one);
}

// Call under the mutex. Throws std::bad_alloc, with nothing added.
void add(termination_notices& its, const address& other, message_ptr& told) {
  if (its.links == nullptr) its.links = std::make_unique<link_table>();
  link_end& fresh = *its.links->try_add(other, {}).first;
  fresh.tells = told != nullptr;
  fresh.told = told.release();
}

// Call under the mutex.
message_ptr remove(termination_notices& its, const address& other) noexcept {
  link_end* const end = its.find(other);
  if (end == nullptr) return nullptr;
  message_ptr told(end->told);
  its.links->erase(other);
  return told;
}

// For an actor that had terminated before the link was requested. Throws std::bad_alloc.
end_cause cause_before(const address& other, control_block* target) {
  end_cause why;
  if (target == nullptr) {
    why.linked = std::make_shared<const std::string>("linked with actor " + to_string(other) +
                                                     ", which had already terminated");
    return why;
  }
  why.reason = target->reason();
  const side_block* const its = target->side_if_any();
  const std::string what = its != nullptr ? its->what : std::string{};
  if (!what.empty()) why.what = std::make_shared<const std::string>(what);
  if (is_abnormal(why.reason)) {
    why.linked = std::make_shared<const std::string>(broken_by(*target, why.reason, what));
  }
  return why;
}

}  // namespace

void free_link_message(link_message* one) noexcept {
  if (one != nullptr) free_envelope(*one);
}

std::string broken_by(control_block& who, exit_reason reason, const std::string& what) {
  // the first cause, for a whole chain of links
  if (reason == exit_reason::link_broken) return what;
  const std::string name = std::string(who.name()) + " (" + to_string(who.where()) + ")";
  if (reason != exit_reason::failed) return "linked with " + name + ", which stop_now() terminated";
  return "linked with " + name + ", which failed" + (what.empty() ? "" : ": " + what);
}

link_end* termination_notices::find(const address& other) noexcept {
  return links != nullptr ? links->find(other) : nullptr;
}

void link(control_block& me, const address& other, control_block* target) {
  if (other == me.where()) return;
  termination_notices& mine = me.side().termination_notices;
  message_ptr to_me = make_message(me);
  if (target != nullptr) {
    termination_notices& theirs = target->side().termination_notices;
    message_ptr to_it = make_message(*target);
    const std::scoped_lock both(mine.guard, theirs.guard);
    if (mine.find(other) != nullptr) return;
    if (!theirs.is_over(*target)) {
      add(mine, other, to_me);
      try {
        add(theirs, me.where(), to_it);
      } catch (...) {
        (void)remove(mine, other);
        throw;
      }
      return;
    }
  }
  const end_cause why = cause_before(other, target);
  {
    const std::lock_guard lock(mine.guard);
    if (mine.find(other) != nullptr) return;
    add(mine, other, to_me);
  }
  tell_link(me.where(), other, why);
}

void unlink(control_block& me, const address& other) noexcept {
  side_block* const its = me.side_if_any();
  if (its == nullptr || other == me.where()) return;
  message_ptr mine;
  message_ptr theirs;
  control_block* const target = control_block::hold_to_the_end(other);
  side_block* const of_it = target != nullptr ? target->side_if_any() : nullptr;
  if (of_it != nullptr) {
    const std::scoped_lock both(its->termination_notices.guard, of_it->termination_notices.guard);
    mine = remove(its->termination_notices, other);
    theirs = remove(of_it->termination_notices, me.where());
  } else {
    const std::lock_guard lock(its->termination_notices.guard);
    mine = remove(its->termination_notices, other);
  }
  if (target != nullptr) target->let_go();
}

void tell_link(const address& peer, const address& who, const end_cause& why) noexcept {
  control_block* const other = control_block::hold_to_the_end(peer);
  if (other == nullptr) return;
  termination_notices& its = other->side_if_any()->termination_notices;
  link_message* told = nullptr;
  bool breaks = false;
  {
    const std::lock_guard lock(its.guard);
    link_end* const end = its.find(who);
    if (end != nullptr && end->tells) {
      told = std::exchange(end->told, nullptr);
    } else if (end != nullptr && is_abnormal(why.reason)) {
      end->broken = breaks = true;
      end->what = why.linked;
    } else if (end != nullptr) {
      its.links->erase(who);
    }
  }
  if (told != nullptr) {
    told->who = who;
    told->reason = why.reason;
    told->what = why.what;
    if (!other->line().now().ending()) told->how = other->type().on_link_down;
    if (!other->try_deliver(*told)) free_link_message(told);
  }
  if (breaks) other->link_broken();
  other->let_go();
}

bool take_broken_link(termination_notices& its, std::string& what) noexcept {
  const std::lock_guard lock(its.guard);
  if (its.links == nullptr) return false;
  for (const auto& each : *its.links) {
    if (!each.value.broken) continue;
    try {
      if (each.value.what != nullptr) what = *each.value.what;
    } catch (...) {
      // No memory for the text: the rest matters more.
    }
    return true;
  }
  return false;
}

void forget_broken_links(termination_notices& its) noexcept {
  const std::lock_guard lock(its.guard);
  if (its.links == nullptr) return;
  for (auto at = its.links->begin(); at != its.links->end();) {
    const auto each = *at;
    ++at;
    if (each.value.broken) its.links->erase(each.key);
  }
}

std::optional<link_down> take_link_down(envelope& message) noexcept {
  std::optional<link_down> d = look_at_link_down(message);
  if (d) end_of_telling(*d);
  return d;
}

std::optional<link_down> look_at_link_down(envelope& message) noexcept {
  const message_ptr one(&static_cast<link_message&>(message));
  termination_notices& its = this_turn().running->side_if_any()->termination_notices;
  {
    const std::lock_guard lock(its.guard);
    if (its.find(one->who) == nullptr) return {};
  }
  std::optional<link_down> d(std::in_place);
  d->who = one->who;
  d->reason = one->reason;
  try {
    if (one->what != nullptr) d->what = *one->what;
  } catch (...) {
    // No memory for the text: the rest matters more.
  }
  return d;
}

bool is_to_be_told(const link_down& what) noexcept {
  termination_notices& its = this_turn().running->side_if_any()->termination_notices;
  const std::lock_guard lock(its.guard);
  return its.find(what.who) != nullptr;
}

void end_of_telling(const link_down& what) noexcept {
  termination_notices& its = this_turn().running->side_if_any()->termination_notices;
  const std::lock_guard lock(its.guard);
  if (its.find(what.who) != nullptr) its.links->erase(what.who);
}

void discard_link_down(envelope& message) noexcept {
  free_link_message(&static_cast<link_message&>(message));
}

}  // namespace troupe::detail
