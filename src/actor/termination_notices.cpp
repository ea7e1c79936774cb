// SPDX-License-Identifier: Apache-2.0
#include "termination_notices.hpp"

#include <mutex>
#include <utility>

#include "runtime.hpp"
#include "side_block.hpp"
#include "watching.hpp"

namespace troupe::detail {

namespace {

template <class Node>
void unlink_node(Node*& first, Node& one, Node* Node::*next, Node* Node::*previous) noexcept {
  (one.*previous != nullptr ? (one.*previous)->*next : first) = one.*next;
  if (one.*next != nullptr) (one.*next)->*previous = one.*previous;
  one.*next = one.*previous = nullptr;
}

end_cause cause_of(control_block& who, std::size_t unhandled) noexcept {
  end_cause why{.reason = who.reason(), .what = {}, .linked = {}, .unhandled = unhandled};
  const side_block& its = *who.side_if_any();
  try {
    if (!its.what.empty()) why.what = std::make_shared<const std::string>(its.what);
    if (is_abnormal(why.reason)) {
      why.linked = std::make_shared<const std::string>(broken_by(who, why.reason, its.what));
    }
  } catch (...) {
    // No memory for the text: the rest matters more.
  }
  return why;
}

// From here on no further listener is accepted.
void release_listeners(termination_notices& its) noexcept {
  end_listener* next;
  {
    const std::lock_guard lock(its.guard);
    its.now = termination_notices::phase::releasing;
    next = std::exchange(its.listeners, nullptr);
  }
  while (next != nullptr) {
    end_listener& one = *next;
    next = termination_notices::next_of(one);
    one.ended();
  }
}

}  // namespace

// ── The lists ─────────────────────────────────────────────────────────────────────────────────

bool termination_notices::is_over(control_block& whose) const noexcept {
  if (now != phase::open) return now == phase::told;
  // Anything in a list was added before the end, so the last turn will process it.
  const bool empty = listeners == nullptr && watchers == nullptr && links == nullptr;
  // [end-side] seq_cst: a thread that adds something makes the side block first, and then checks
  // whether the actor has terminated; the last turn marks the termination first, and then looks for
  // a side block.
  return empty && whose.line().now_in_order().ended();
}

void termination_notices::add(end_listener& one) noexcept {
  one.listens_ = true;
  one.next_ = std::exchange(listeners, &one);
  if (one.next_ != nullptr) one.next_->previous_ = &one;
}

void termination_notices::remove(end_listener& one) noexcept {
  one.listens_ = false;
  unlink_node(listeners, one, &end_listener::next_, &end_listener::previous_);
}

void termination_notices::add(watch& one) noexcept {
  one.earlier = std::exchange(last_watcher, &one);
  (one.earlier != nullptr ? one.earlier->later : watchers) = &one;
}

void termination_notices::remove(watch& one) noexcept {
  if (last_watcher == &one) last_watcher = one.earlier;
  unlink_node(watchers, one, &watch::later, &watch::earlier);
}

// ── Listeners ─────────────────────────────────────────────────────────────────────────────────

bool listen_to_end(control_block& of, end_listener& listener) {
  termination_notices& its = of.side().termination_notices;
  const std::lock_guard lock(its.guard);
  if (its.now != termination_notices::phase::open || its.is_over(of)) return false;
  its.add(listener);
  return true;
}

bool unlisten_to_end(control_block& of, end_listener& listener) noexcept {
  termination_notices& its = of.side_if_any()->termination_notices;
  const std::lock_guard lock(its.guard);
  if (its.now != termination_notices::phase::open || !termination_notices::listens(listener))
    return false;
  its.remove(listener);
  return true;
}

// One at a time: what a listener releases may end other listeners.
void end_listeners_of_object(termination_notices& its) noexcept {
  for (;;) {
    end_listener* one;
    {
      const std::lock_guard lock(its.guard);
      one = its.listeners;
      while (one != nullptr && !one->is_of_object()) one = termination_notices::next_of(*one);
      if (one == nullptr) return;
      its.remove(*one);
    }
    one->ended();
  }
}

// ── Termination ───────────────────────────────────────────────────────────────────────────────

void tell_of_end(control_block& who, std::size_t unhandled) noexcept {
  termination_notices& its = who.side_if_any()->termination_notices;
  release_listeners(its);
  watch* watchers;
  std::unique_ptr<link_table> links;
  {
    const std::lock_guard lock(its.guard);
    its.now = termination_notices::phase::told;
    watchers = std::exchange(its.watchers, nullptr);
    links = std::move(its.links);
  }
  if (watchers == nullptr && links == nullptr) return;
  const end_cause why = cause_of(who, unhandled);
  if (links != nullptr) {
    const address me = who.where();
    for (const auto& each : *links) {
      free_link_message(each.value.told);
      tell_link(each.key, me, why);
    }
  }
  while (watchers != nullptr) {
    watch& each = *std::exchange(watchers, watchers->later);
    send_down(each, why);
  }
}

}  // namespace troupe::detail
