// SPDX-License-Identifier: Apache-2.0
#include <troupe/time/timer_wheel.hpp>
#include <type_traits>
#include <utility>

namespace troupe {
namespace {

constexpr unsigned tick_bits = 19;
static_assert(timer_wheel::tick == std::chrono::nanoseconds{1 << tick_bits});
static_assert(std::is_same_v<duration, std::chrono::nanoseconds>);

constexpr auto last_tick = static_cast<std::uint64_t>(duration::max().count() >> tick_bits);

}  // namespace

timer_wheel::timer_wheel(time_point now) noexcept : now_(tick_before(now)) {
  static_assert(last_tick >> (levels * digit_bits) == 0, "the levels reach further than the clock");
  for (timer_node& head : slots_) head.previous_ = head.next_ = &head;
}

void timer_wheel::restart(time_point now) noexcept {
  TROUPE_ASSERT(size_ == 0, "timer_wheel: restarted with timers in it");
  now_ = tick_before(now);
}

void timer_wheel::insert(timer_node& node, time_point deadline) noexcept {
  TROUPE_ASSERT(!node.linked(), "timer_wheel: inserted twice");
  node.deadline_ = std::max(tick_after(deadline), now_ + 1);
  link(node);
  ++size_;
}

bool timer_wheel::remove(timer_node& node) noexcept {
  if (!node.linked()) return false;
  node.previous_->next_ = node.next_;
  node.next_->previous_ = node.previous_;
  if (node.previous_ == node.next_) {  // only the head is left
    const unsigned level = level_of(node.deadline_);
    occupied_[level] &= ~(std::uint64_t{1} << digit_of(node.deadline_, level));
  }
  node.previous_ = node.next_ = nullptr;
  --size_;
  return true;
}

std::optional<time_point> timer_wheel::next_expiry() const noexcept {
  const auto first = first_occupied();
  if (!first) return std::nullopt;
  return time_point{duration{static_cast<duration::rep>(first->start << tick_bits)}};
}

std::uint64_t timer_wheel::tick_before(time_point at) noexcept {
  const auto since = at.time_since_epoch().count();
  return since <= 0 ? 0 : static_cast<std::uint64_t>(since) >> tick_bits;
}

std::uint64_t timer_wheel::tick_after(time_point at) noexcept {
  const auto since = at.time_since_epoch().count();
  if (since <= 0) return 0;
  // The end of the clock has no tick after it.
  return std::min(((static_cast<std::uint64_t>(since) - 1) >> tick_bits) + 1, last_tick);
}

unsigned timer_wheel::level_of(std::uint64_t deadline) const noexcept {
  const std::uint64_t differing = (deadline ^ now_) | 1;
  return (static_cast<unsigned>(std::bit_width(differing)) - 1) / digit_bits;
}

unsigned timer_wheel::digit_of(std::uint64_t deadline, unsigned level) noexcept {
  return static_cast<unsigned>(deadline >> (level * digit_bits)) % digits;
}

void timer_wheel::link(timer_node& node) noexcept {
  const unsigned level = level_of(node.deadline_);
  const unsigned digit = digit_of(node.deadline_, level);
  timer_node& head = slot(level, digit);
  node.previous_ = head.previous_;
  node.next_ = &head;
  head.previous_->next_ = &node;
  head.previous_ = &node;
  occupied_[level] |= std::uint64_t{1} << digit;
}

// Now has reached the slot's start, so its nodes belong further down. Nodes of one deadline are
// always in one slot; taking them from the front keeps them in order.
void timer_wheel::cascade(const place& from) noexcept {
  timer_node& head = slot(from.level, from.digit);
  timer_node* node = std::exchange(head.next_, &head);
  head.previous_ = &head;
  occupied_[from.level] &= ~(std::uint64_t{1} << from.digit);
  while (node != &head) {
    timer_node* next = node->next_;
    link(*node);
    node = next;
  }
}

std::optional<timer_wheel::place> timer_wheel::first_occupied() const noexcept {
  for (unsigned level = 0; level < levels; ++level) {
    if (occupied_[level] == 0) continue;
    const auto digit = static_cast<unsigned>(std::countr_zero(occupied_[level]));
    const unsigned shift = level * digit_bits;
    const std::uint64_t above = now_ >> (shift + digit_bits) << (shift + digit_bits);
    return place{level, digit, above | (std::uint64_t{digit} << shift)};
  }
  return std::nullopt;
}

}  // namespace troupe
