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
#include <bit>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include <troupe/sync/per_process.hpp>

#include "runtime.hpp"
#include "side_block.hpp"

namespace troupe::detail {

namespace {

// The undecided actor that a thread waits for, of any system. The search decides about it at the
// end of its slice: while it marks, the actor lives; when all are marked, the actor ends. If several
// threads wait, the others ask afterwards.
struct awaited_decision {
  [[nodiscard]] static atomic<const lifeline*>& here() noexcept {
    return per_process<awaited_decision>::here().which;
  }
  atomic<const lifeline*> which{nullptr};
};

}  // namespace

// Waits for the end of a slice of the search. The search waits for no other thread.
bool lifeline::try_hold_when_decided(std::uint32_t generation) noexcept {
  // [awaited] relaxed, all of these: the pointer is only compared. The decision shows in the word.
  struct asking_for {
    const lifeline* const mine;
    bool asks = false;
    void ask() noexcept {
      atomic<const lifeline*>& place = awaited_decision::here();
      const lifeline* now = place.load(relaxed);
      if (now != nullptr) return;
      if (place.compare_exchange_strong(now, mine, relaxed, relaxed)) asks = true;
    }
    ~asking_for() {
      const lifeline* own = mine;
      if (asks) awaited_decision::here().compare_exchange_strong(own, nullptr, relaxed, relaxed);
    }
  } decision{this};
  while (!try_hold(generation)) {
    const state last = now_after_others();
    if (last.generation() != generation) return false;
    if (last.undecided()) {
      decision.ask();
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
    (void)pace_.took();
    if (those == which::that_list && block.type().references == nullptr) return;
    if (only != nullptr && !std::binary_search(only->begin(), only->end(), &block, std::less<>{}))
      return;
    nodes_.push_back({.block = &block, .references = 0});
    if (!block.try_freeze()) nodes_.pop_back();
  });
  enter_places();
  open_.reserve(nodes_.size());
  listed_references found;
  for (node& each : nodes_) {
    list_references_of(each, found);
    (void)pace_.took(1 + found.all.size());
    found.all.clear();
  }
  // After the listing: the references that were listed are counted by then.
  for (node& each : nodes_) {
    each.references = each.block->line().now().count();
    (void)pace_.took();
  }
}

void frozen_actors::enter_places() {
  if (nodes_.empty()) return;
  places_.assign(std::bit_ceil(2 * nodes_.size()), 0);
  for (node& each : nodes_) {
    std::size_t at = place_of(each.block);
    while (places_[at] != 0) at = (at + 1) % places_.size();
    places_[at] = static_cast<std::uint32_t>(&each - nodes_.data()) + 1;
    (void)pace_.took();
  }
}

// The high bits of the product depend on all bits of the address.
std::size_t frozen_actors::place_of(const control_block* block) const noexcept {
  const auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(block));
  return ((key * 0x9e37'79b9'7f4a'7c15U) >> 32) % places_.size();
}

frozen_actors::node* frozen_actors::frozen(const control_block* block) noexcept {
  if (places_.empty()) return nullptr;
  for (std::size_t at = place_of(block); places_[at] != 0; at = (at + 1) % places_.size()) {
    node& one = nodes_[places_[at] - 1];
    if (one.block == block) return &one;
  }
  return nullptr;
}

void frozen_actors::list_references_of(node& one, listed_references& found) {
  one.first = static_cast<std::uint32_t>(edges_.size());
  const actor_type& type = one.block->type();
  if (type.references == nullptr) return;
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
    node* const target = frozen(each.target);
    if (target == nullptr) continue;
    edges_.push_back(static_cast<std::uint32_t>(target - nodes_.data()));
    ++target->listed;
  }
}

// Thaws each living actor once, since it may be gone afterwards.
void frozen_actors::thaw_living(bool others_too) noexcept {
  for (node& each : nodes_) {
    if (each.is_done || !(each.lives || others_too)) continue;
    each.is_done = true;
    each.block->thaw();
    (void)pace_.took();
  }
}

// ── Finding the living ────────────────────────────────────────────────────────────────────────

// Finds all for which `lives` is true, and everything that they reference.
template <class Lives>
void frozen_actors::find_living(Lives&& lives) noexcept {
  for (node& each : nodes_) {
    if (!each.lives && lives(each)) let_live(each);
    (void)pace_.took();
  }
}

void frozen_actors::set_living(node& one) noexcept {
  if (one.lives) return;
  one.lives = true;
  if (std::exchange(one.marked, false)) one.block->line().unmark();
  // There is room: each node enters it once.
  open_.push_back(static_cast<std::uint32_t>(&one - nodes_.data()));
}

void frozen_actors::let_live(node& one) noexcept {
  set_living(one);
  while (!open_.empty()) {
    const std::uint32_t at = open_.back();
    open_.pop_back();
    const std::size_t end = at + 1 < nodes_.size() ? nodes_[at + 1].first : edges_.size();
    for (std::size_t edge = nodes_[at].first; edge < end; ++edge) {
      set_living(nodes_[edges_[edge]]);
      if (!pace_.took()) continue;
      if (node* const next = awaited()) set_living(*next);
    }
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
    if (!each.marked || each.block->has_something_to_do()) {
      result.again = true;
      let_live(each);
    }
    if (!pace_.took()) continue;
    if (node* const next = awaited()) {
      result.again = true;
      let_live(*next);
    }
  }
  // Ends all of them before any is scheduled: the first to terminate releases the others.
  for (node& each : nodes_) {
    end_marked(each, result);
    if (!pace_.took()) continue;
    if (node* const next = awaited()) end_marked(*next, result);
  }
  thaw_living(false);
  for (node& each : nodes_) {
    if (each.lives) continue;
    each.is_done = true;
    each.block->end_unreachable();
    (void)pace_.took();
  }
  return result;
}

void frozen_actors::end_marked(node& one, outcome& counts) noexcept {
  if (!std::exchange(one.marked, false)) return;
  one.block->line().end_marked();
  ++counts.ended;
}

// The undecided one of these that a thread waits for. Null: none.
frozen_actors::node* frozen_actors::awaited() noexcept {
  const lifeline* const line = awaited_decision::here().load(relaxed);  // [awaited]
  if (line == nullptr) return nullptr;
  node* const one = frozen(&control_block::of(const_cast<lifeline&>(*line)));
  return one != nullptr && one->marked ? one : nullptr;
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
