// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include <troupe/actor/control_block.hpp>
#include <troupe/actor/events.hpp>
#include <troupe/message/call_handler.hpp>
#include <troupe/message/envelope.hpp>
#include <troupe/message/type_name.hpp>

// How on(down) and on(link_down) are called. Both messages have envelopes of their own, which are made
// with the watch and with the link: nothing has to be allocated when an actor ends.

namespace troupe::detail {

/// What came, out of its envelope, which is freed; nothing if it was unwatched or unlinked meanwhile.
/// In the turn of whom it was sent to.
[[nodiscard]] std::optional<down> take_down(envelope& message) noexcept;
[[nodiscard]] std::optional<link_down> take_link_down(envelope& message) noexcept;

void discard_down(envelope& message) noexcept;
void discard_link_down(envelope& message) noexcept;

template <class A>
void run_down(void* actor, envelope& message) {
  if (auto one = take_down(message)) {
    const unwrapped_scope scope;
    call_handler(*static_cast<A*>(actor), std::move(*one), address{});
  }
}
template <class A>
void run_link_down(void* actor, envelope& message) {
  if (auto one = take_link_down(message)) {
    const unwrapped_scope scope;
    call_handler(*static_cast<A*>(actor), std::move(*one), address{});
  }
}

/// They count for nothing and are always taken.
template <class A>
inline constexpr dispatch down_dispatch_of{
    .run = run_down<A>, .discard = discard_down, .message = type_name<down>()};
template <class A>
inline constexpr dispatch link_down_dispatch_of{
    .run = run_link_down<A>, .discard = discard_link_down, .message = type_name<link_down>()};

}  // namespace troupe::detail
