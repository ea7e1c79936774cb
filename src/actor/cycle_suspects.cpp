// SPDX-License-Identifier: Apache-2.0
// Preselects the actors that the cycle search examines, so that only those are frozen together.
#include "cycle_suspects.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include <troupe/actor/references.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/control_block.hpp>

#include "runtime.hpp"

namespace troupe::detail {

namespace {

// Other threads that want the core get it after this time, which is less than the promised
// millisecond: the time for an actor that has many references to list is added to it.
constexpr std::chrono::microseconds slice{500};

}  // namespace

std::vector<const control_block*> cycle_suspects::find() {
  home_.for_each_actor([this](control_block& block) {
    if (block.type().references != nullptr)
      nodes_.push_back({.where = block.where(), .block = &block});
  });
  std::sort(nodes_.begin(), nodes_.end(),
            [](const node& a, const node& b) { return std::less<>{}(a.block, b.block); });
  open_.reserve(nodes_.size());
  listed_references found;
  time_point began = clock::now();
  for (node& each : nodes_) {
    list_references_of(each, found);
    if (clock::now() - began < slice) continue;
    std::this_thread::yield();
    began = clock::now();
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const node& each = nodes_[i];
    // The same rule as in frozen_actors, which makes the decision.
    if (!each.is_idle || each.references == 0 || each.references != each.listed) let_live(i);
  }
  std::vector<const control_block*> those;
  for (const node& each : nodes_) {
    if (!each.lives) those.push_back(each.block);
  }
  return those;
}

void cycle_suspects::list_references_of(node& one, listed_references& found) {
  one.first = static_cast<std::uint32_t>(edges_.size());
  control_block* const block = control_block::hold_to_the_end(one.where);
  if (block == nullptr) return;
  struct let_go {
    void operator()(control_block* held) const noexcept { held->let_go(); }
  };
  const std::unique_ptr<control_block, let_go> held(block);
  if (!block->try_freeze()) return;
  struct thaw {
    void operator()(control_block* frozen) const noexcept { frozen->thaw(); }
  };
  {
    const std::unique_ptr<control_block, thaw> frozen(block);
    found.all.clear();
    try {
      reference_visitor visit(found);
      block->type().references(block->object(), visit);
    } catch (...) {
      // As documented: the references that were listed before the exception count.
    }
    if (found.incomplete) throw std::bad_alloc();
    one.references = block->line().now().count() - 1;  // minus the one that is held here
    one.is_idle = !block->has_something_to_do();
  }
  // A member that is listed twice is still one reference.
  std::sort(found.all.begin(), found.all.end(),
            [](const auto& a, const auto& b) { return std::less<>{}(a.handle, b.handle); });
  add_edges(found);
}

void cycle_suspects::add_edges(const listed_references& found) {
  const void* last = nullptr;
  for (const listed_references::one& each : found.all) {
    if (std::exchange(last, each.handle) == each.handle) continue;
    const auto target = std::lower_bound(
        nodes_.begin(), nodes_.end(), each.target,
        [](const node& a, const control_block* b) { return std::less<>{}(a.block, b); });
    if (target == nodes_.end() || target->block != each.target) continue;
    edges_.push_back(static_cast<std::uint32_t>(target - nodes_.begin()));
    ++target->listed;
  }
}

// There is room in open_: each node enters it once.
void cycle_suspects::let_live(std::size_t one) noexcept {
  const auto add = [this](std::size_t next) {
    if (std::exchange(nodes_[next].lives, true)) return;
    open_.push_back(static_cast<std::uint32_t>(next));
  };
  add(one);
  while (!open_.empty()) {
    const std::uint32_t at = open_.back();
    open_.pop_back();
    const std::size_t end = at + 1 < nodes_.size() ? nodes_[at + 1].first : edges_.size();
    for (std::size_t edge = nodes_[at].first; edge < end; ++edge) add(edges_[edge]);
  }
}

}  // namespace troupe::detail
