// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/time/timer_wheel.hpp>
#include <type_traits>
#include <utility>

namespace troupe {
namespace {

constexpr unsigned tick_bits = 19;
static_assert(timer_wheel::tick == std::chrono::nanoseconds{1 << tick_bits});
static_assert(std::is_same_v<duration, std::chrono::nanoseconds>);

constexpr auto last_tick = static_cast<std::uint64_t>(duration::max().count() >> tick_bits);

}  // namespace

timer_wheel::timer_wheel(time_point now, unsigned pace) noexcept
    : now_(tick_before(now)), pace_(pace) {
  static_assert(last_tick >> ((levels - 1) * reach) < slots,
                "the levels reach further than the clock");
  for (timer_node& head : slots_) head.previous_ = head.next_ = &head;
}

void timer_wheel::restart(time_point now) noexcept {
  TROUPE_ASSERT(size_ == 0, "timer_wheel: restarted with timers in it");
  now_ = tick_before(now);
}

void timer_wheel::insert(timer_node& node, time_point deadline) noexcept {
  TROUPE_ASSERT(!node.linked(), "timer_wheel: inserted twice");
  node.deadline_ = std::max(tick_after(deadline), now_ + 1);
  const unsigned place = place_of(node.deadline_, level_of(node.deadline_));
  timer_node& head = slots_[place];
  node.previous_ = head.previous_;
  node.next_ = &head;
  head.previous_->next_ = &node;
  head.previous_ = &node;
  fill(place);
  ++size_;
}

bool timer_wheel::remove(timer_node& node) noexcept {
  if (!node.linked()) return false;
  node.previous_->next_ = node.next_;
  node.next_->previous_ = node.previous_;
  // The list is empty: only its head is left.
  if (node.previous_ == node.next_) empty(static_cast<unsigned>(node.next_ - slots_.data()));
  node.previous_ = node.next_ = nullptr;
  --size_;
  return true;
}

std::optional<time_point> timer_wheel::next_expiry() const noexcept {
  const auto first = first_event();
  if (!first) return std::nullopt;
  // No tick is later than the last one of the clock.
  return time_point{
      duration{static_cast<duration::rep>(std::min(first->at, last_tick) << tick_bits)}};
}

std::uint64_t timer_wheel::tick_before(time_point at) noexcept {
  const auto since = at.time_since_epoch().count();
  return since <= 0 ? 0 : static_cast<std::uint64_t>(since) >> tick_bits;
}

std::uint64_t timer_wheel::tick_after(time_point at) noexcept {
  const auto since = at.time_since_epoch().count();
  if (since <= 0) return 0;
  // No tick is later than the last one of the clock.
  return std::min(((static_cast<std::uint64_t>(since) - 1) >> tick_bits) + 1, last_tick);
}

unsigned timer_wheel::level_of(std::uint64_t deadline) const noexcept {
  static_assert(slots == 1u << (reach + 1));
  const auto digits = static_cast<unsigned>(std::bit_width((deadline - now_) | (slots - 1)));
  const unsigned level = (digits - 2) / reach;
  // The distance in slots is one more than estimated if the deadline lies earlier within its slot
  // than `now_` does within its own.
  const bool is_too_far = (deadline >> (level * reach)) - (now_ >> (level * reach)) >= slots;
  return level + (is_too_far ? 1 : 0);
}

unsigned timer_wheel::place_of(std::uint64_t deadline, unsigned level) noexcept {
  return level * slots + static_cast<unsigned>(deadline >> (level * reach)) % slots;
}

void timer_wheel::fill(unsigned place) noexcept {
  ++slots_[place].deadline_;
  occupied_[place / slots] |= std::uint64_t{1} << place % slots;
}

void timer_wheel::empty(unsigned place) noexcept {
  slots_[place].deadline_ = 0;
  occupied_[place / slots] &= ~(std::uint64_t{1} << place % slots);
}

// The tick at which a slot begins to move down: early enough that it is empty when its span begins,
// and not before the level below has room.
std::uint64_t timer_wheel::moves_at(const timer_node& head, unsigned level,
                                    std::uint64_t begin) const noexcept {
  return begin - std::min(head.deadline_ >> pace_, std::uint64_t{1} << (level * reach));
}

// Moves nodes from the end of one list to the front of another. Nodes of the same tick that are
// already in the target list are newer.
std::size_t timer_wheel::move_down(const event& from, std::size_t most) noexcept {
  timer_node& head = slots_[from.slot];
  std::size_t moved = 0;
  while (moved < most && head.previous_ != &head &&
         moves_at(head, from.level, from.begin) <= now_) {
    timer_node& node = *head.previous_;
    __builtin_prefetch(node.previous_->previous_);
    head.previous_ = node.previous_;
    node.previous_->next_ = &head;
    --head.deadline_;
    const unsigned place = place_of(node.deadline_, from.level - 1);
    timer_node& to = slots_[place];
    node.next_ = to.next_;
    node.previous_ = &to;
    to.next_->previous_ = &node;
    to.next_ = &node;
    fill(place);
    ++moved;
  }
  if (head.previous_ == &head) empty(from.slot);
  return moved;
}

std::optional<timer_wheel::event> timer_wheel::first_event() const noexcept {
  std::optional<event> first;
  for (unsigned level = levels; level-- > 0;) {
    if (occupied_[level] == 0) continue;
    const std::uint64_t here = now_ >> (level * reach);
    const auto turned = std::rotr(occupied_[level], static_cast<int>(here % slots));
    const std::uint64_t number = here + static_cast<unsigned>(std::countr_zero(turned));
    const std::uint64_t begin = number << (level * reach);
    const unsigned place = level * slots + static_cast<unsigned>(number % slots);
    const std::uint64_t at = level == 0 ? begin : moves_at(slots_[place], level, begin);
    if (!first || at < first->at) first = event{level, place, begin, at};
  }
  return first;
}

}  // namespace troupe
