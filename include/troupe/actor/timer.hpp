// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <troupe/base/clock.hpp>
#include <troupe/detail/actor/control_block.hpp>

namespace troupe {

namespace detail {
struct timer_entry;
struct timer_access;
class timer_service;
}  // namespace detail

/// Identifies one armed timer so that it can be cancelled; destroying the handle does not affect
/// the timer.
///
/// Threads: a plain value; cancel() may be called from any thread.
class timer {
 public:
  timer() = default;

  /// Ends the timer and frees its message. If it is called within the receiver's own turn, none of
  /// its messages arrives afterwards, not even a tick that is already in the mailbox. Returns false
  /// if the timer had ended before.
  /// Cost: a mutex of the system.
  bool cancel() noexcept;

 private:
  friend struct detail::timer_access;
  timer(detail::timer_service& of, detail::timer_entry& entry, std::uint64_t generation) noexcept
      : of_(&of), entry_(&entry), generation_(generation) {}

  detail::timer_service* of_ = nullptr;
  detail::timer_entry* entry_ = nullptr;
  std::uint64_t generation_ = 0;
};

namespace detail {

using clone_function = envelope* (*)(const envelope& message);

/// Arms a timer and takes ownership of the message. A period of zero: fires once.
timer arm(control_block& to, envelope& message, duration delay, duration period,
          clone_function clone);

template <bool WithSender, class M>
envelope* clone_message(const envelope& message) {
  const auto& original = static_cast<const message_envelope<M, WithSender>&>(message);
  auto* const copy = make_envelope<WithSender>(*original.how, original.value);
  if constexpr (WithSender) copy->sender = original.sender;
  return copy;
}

template <bool WithSender, class Message>
timer arm_once(control_block& to, const dispatch& how, duration delay, Message&& message) {
  auto* const e = make_envelope<WithSender>(how, std::forward<Message>(message));
  if constexpr (WithSender) e->sender = current_address();
  return arm(to, *e, delay, duration::zero(), nullptr);
}

template <bool WithSender, class Message>
timer arm_every(control_block& to, const dispatch& how, duration period, Message&& message) {
  auto* const e = make_envelope<WithSender>(how, std::forward<Message>(message));
  if constexpr (WithSender) e->sender = current_address();
  const duration positive = period > duration::zero() ? period : duration{1};
  return arm(to, *e, positive, positive, clone_message<WithSender, std::remove_cvref_t<Message>>);
}

}  // namespace detail
}  // namespace troupe
