// SPDX-License-Identifier: Apache-2.0
// Which actors are referenced only by each other, and how they are terminated all at once.
//
// An idle actor's state does not change while another thread is its mailbox's reader: it is frozen.
// If the frozen actors have listed as many references to a frozen actor as its lifeline counts,
// nothing else holds it: no thread, no timer, no message on its way, no actor that runs or does not
// list its references. So it lives only if one of the actors that list it lives. The remaining ones
// are garbage.
//
// Another thread may still reach these actors by an address. It must see all of them terminate at
// once; otherwise it could hold one of them while another one, which the first references, has
// terminated. So all are marked first, each at exactly the count that was found: from the last mark
// on no thread can acquire any of them, and threads that try wait. If one of them cannot be marked,
// or was sent something by a thread that has acquired and released it before, then it lives, and so
// does everything that it references.
#include "frozen_actors.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe::detail {

// Waits as long as the marking of the actors that terminate together takes; that waits for no other
// thread.
bool lifeline::try_hold_when_decided(std::uint32_t generation) noexcept {
  while (!try_hold(generation)) {
    const state last = now_after_others();
    if (last.generation() != generation) return false;
    if (last.undecided()) {
      cpu_relax();
      std::this_thread::yield();
    } else if (last.ending()) {
      return false;
    }
  }
  return true;
}

control_block* control_block::hold_when_decided(lifeline& line, std::uint32_t generation) noexcept {
  return line.try_hold_when_decided(generation) ? &of(line) : nullptr;
}

// ── One actor ─────────────────────────────────────────────────────────────────────────────────

bool control_block::has_something_to_do() const noexcept {
  // [urgent] relaxed: it comes with a message.
  if (taken_.has_ready() || head().pushed.has_pushed() || is_told_to_stop()) return true;
  const side_block* const its = side_if_any();
  return its != nullptr && (its->kept != nullptr || its->supervised || waits_for_something());
}

void control_block::end_unreachable() noexcept {
  (void)raise(urgent::unreachable);
  executor_->schedule(*this);
}

void list(listed_references& in, control_block& target, const void* handle) {
  try {
    in.all.push_back({&target, handle});
  } catch (const std::bad_alloc&) {
    in.incomplete = true;
  }
}

// ── Freezing ──────────────────────────────────────────────────────────────────────────────────

void frozen_actors::freeze(which those, const std::vector<const control_block*>* only) {
  if (only != nullptr && only->empty()) return;
  home_.for_each_actor([&](control_block& block) {
    if (those == which::that_list && block.type().references == nullptr) return;
    if (only != nullptr && !std::binary_search(only->begin(), only->end(), &block, std::less<>{}))
      return;
    nodes_.push_back({.block = &block, .references = 0});
    if (!block.try_freeze()) nodes_.pop_back();
  });
  places_.reserve(nodes_.size());
  for (const node& each : nodes_) {
    places_.push_back({each.block, static_cast<std::uint32_t>(&each - nodes_.data())});
  }
  std::sort(places_.begin(), places_.end(),
            [](const place& a, const place& b) { return std::less<>{}(a.block, b.block); });
  open_.reserve(nodes_.size());
  listed_references found;
  for (node& each : nodes_) list_references_of(each, found);
  // After the listing: the references that were listed are counted by then.
  for (node& each : nodes_) each.references = each.block->line().now().count();
}

void frozen_actors::list_references_of(node& one, listed_references& found) {
  one.first = static_cast<std::uint32_t>(edges_.size());
  const actor_type& type = one.block->type();
  if (type.references == nullptr) return;
  found.all.clear();
  try {
    reference_visitor visit(found);
    type.references(one.block->object(), visit);
  } catch (...) {
    // As documented: the references that were listed before the exception count.
  }
  if (found.incomplete) throw std::bad_alloc();
  // A member that is listed twice is still one reference.
  const auto by_handle = [](const auto& a, const auto& b) {
    return std::less<>{}(a.handle, b.handle);
  };
  std::sort(found.all.begin(), found.all.end(), by_handle);
  const void* last = nullptr;
  for (const listed_references::one& each : found.all) {
    if (std::exchange(last, each.handle) == each.handle) continue;
    const auto target = std::lower_bound(
        places_.begin(), places_.end(), each.target,
        [](const place& a, const control_block* b) { return std::less<>{}(a.block, b); });
    // it is not frozen
    if (target == places_.end() || target->block != each.target) continue;
    edges_.push_back(target->in_nodes);
    ++nodes_[target->in_nodes].listed;
  }
}

// Thaws each living actor once, since it may be gone afterwards.
void frozen_actors::thaw_living(bool others_too) noexcept {
  for (node& each : nodes_) {
    if (each.is_done || !(each.lives || others_too)) continue;
    each.is_done = true;
    each.block->thaw();
  }
}

// ── Finding the living ────────────────────────────────────────────────────────────────────────

// Finds all for which `lives` is true, and everything that they reference.
template <class Lives>
void frozen_actors::find_living(Lives&& lives) noexcept {
  for (node& each : nodes_) {
    if (!each.lives && lives(each)) let_live(each);
  }
}

// There is room in open_: each node enters it once.
void frozen_actors::let_live(node& one) noexcept {
  const auto add = [this](node& next) {
    if (next.lives) return;
    next.lives = true;
    if (std::exchange(next.marked, false)) next.block->line().unmark();
    open_.push_back(static_cast<std::uint32_t>(&next - nodes_.data()));
  };
  add(one);
  while (!open_.empty()) {
    const std::uint32_t at = open_.back();
    open_.pop_back();
    const std::size_t end = at + 1 < nodes_.size() ? nodes_[at + 1].first : edges_.size();
    for (std::size_t edge = nodes_[at].first; edge < end; ++edge) add(nodes_[edges_[edge]]);
  }
}

// If more references are listed than counted, an actor lists some that it does not hold. The target
// is left alone.
bool frozen_actors::is_held_by_others(const node& one) noexcept {
  return one.references == 0 || one.references != one.listed;
}

frozen_actors::outcome frozen_actors::end_unreachable() noexcept {
  find_living([](const node& each) {
    return is_held_by_others(each) || each.block->has_something_to_do();
  });
  thaw_living(false);
  outcome result;
  for (node& each : nodes_) {
    if (each.lives) continue;
    each.marked = each.block->line().try_mark(each.references);
    if (each.marked && !each.block->has_something_to_do()) continue;
    result.again = true;
    let_live(each);
  }
  // Ends all of them before any is scheduled: the first to terminate releases the others.
  for (node& each : nodes_) {
    if (each.lives) continue;
    each.block->line().end_marked();
    ++result.ended;
  }
  for (node& each : nodes_) {
    if (each.lives) continue;
    each.is_done = true;
    each.block->end_unreachable();
  }
  return result;
}

std::vector<troupe::system::suspect> frozen_actors::suspects() {
  const auto forget = [this] {
    for (node& each : nodes_) each.lives = false;
  };
  find_living([](const node& each) {
    return is_held_by_others(each) || each.block->has_something_to_do();
  });
  std::vector<bool> is_collected(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) is_collected[i] = !nodes_[i].lives;
  forget();
  find_living([this](const node& each) {
    return each.block->has_something_to_do() || home_.timers().has_timers(*each.block);
  });
  std::vector<troupe::system::suspect> those;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const node& each = nodes_[i];
    if (each.lives || is_collected[i] || each.references == 0) continue;
    control_block& block = *each.block;
    those.push_back({block.where(), std::string(block.name()), each.references,
                     block.type().references != nullptr});
  }
  return those;
}

}  // namespace troupe::detail
