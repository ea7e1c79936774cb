// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <utility>

#include <troupe/actor/events.hpp>
#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/message/call_handler.hpp>
#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/message/type_name.hpp>

// How on(down) and on(link_down) are called. Both messages have special envelopes, which are
// allocated with the monitor and with the link: nothing has to be allocated when an actor
// terminates.

namespace troupe::detail {

/// Takes the message out of its envelope, and frees that; returns nothing if the monitor or link
/// was removed meanwhile. Runs in the recipient's turn.
[[nodiscard]] std::optional<down> take_down(envelope& message) noexcept;
[[nodiscard]] std::optional<link_down> take_link_down(envelope& message) noexcept;

void discard_down(envelope& message) noexcept;
void discard_link_down(envelope& message) noexcept;

// A class that chooses its handlers may stash the message. It therefore gets an envelope of the
// usual kind, and the monitor or the link lasts until that is handled, so that unwatch() and
// unlink() still revoke it.

/// As take_down() and take_link_down(), but the monitor, or the link, lasts until end_of_telling().
[[nodiscard]] std::optional<down> look_at_down(envelope& message) noexcept;
[[nodiscard]] std::optional<link_down> look_at_link_down(envelope& message) noexcept;

/// Returns false if the monitor, or the link, was removed meanwhile.
[[nodiscard]] bool is_to_be_told(const down& what) noexcept;
[[nodiscard]] bool is_to_be_told(const link_down& what) noexcept;

/// Must be called in the recipient's turn when the message is handled or discarded.
void end_of_telling(const down& what) noexcept;
void end_of_telling(const link_down& what) noexcept;

template <class A, class M>
struct end_in_envelope {
  static M& in(envelope& message) noexcept {
    return static_cast<message_envelope<M, handles_with_sender<A, M>>&>(message).value;
  }
  static void run(void* actor, envelope& message) {
    if (!is_to_be_told(in(message))) return discard(message);
    promised_dispatch_of<A, M>.run(actor, message);
  }
  // It is discarded in the recipient's turn. A link made after that is told again.
  static void discard(envelope& message) noexcept {
    end_of_telling(in(message));
    promised_dispatch_of<A, M>.discard(message);
  }
  static constexpr dispatch make_how() noexcept {
    dispatch d = promised_dispatch_of<A, M>;
    d.run = run;
    d.discard = discard;
    return d;
  }
  static constexpr dispatch how = make_how();
};

/// Called by a class that chooses its handlers, before it calls one.
template <class A, class M>
void is_handled_now([[maybe_unused]] envelope& message) noexcept {
  if constexpr (std::same_as<M, down> || std::same_as<M, link_down>) {
    using kept = end_in_envelope<A, M>;
    if (message.how == &kept::how) end_of_telling(kept::in(message));
  }
}

template <class A, class M>
void tell_of_end(void* actor, std::optional<M> what) {
  if (!what) return;
  const unwrapped_scope scope;
  if constexpr (chooses_handler<A, M>()) {
    const dispatch& how = end_in_envelope<A, M>::how;
    envelope* message = nullptr;
    try {
      message = make_envelope<handles_with_sender<A, M>>(how, std::move(*what));
    } catch (...) {
      end_of_telling(*what);  // its address and monitor are values, and still there
      throw;
    }
    how.run(actor, *message);
  } else {
    call_handler(*static_cast<A*>(actor), std::move(*what), address{});
  }
}

template <class A>
void run_down(void* actor, envelope& message) {
  if constexpr (chooses_handler<A, down>()) {
    tell_of_end<A>(actor, look_at_down(message));
  } else {
    tell_of_end<A>(actor, take_down(message));
  }
}
template <class A>
void run_link_down(void* actor, envelope& message) {
  if constexpr (chooses_handler<A, link_down>()) {
    tell_of_end<A>(actor, look_at_link_down(message));
  } else {
    tell_of_end<A>(actor, take_link_down(message));
  }
}

/// They do not count towards limits and are always accepted.
template <class A>
inline constexpr dispatch down_dispatch_of{
    .run = run_down<A>, .discard = discard_down, .message = type_name<down>()};
template <class A>
inline constexpr dispatch link_down_dispatch_of{
    .run = run_link_down<A>, .discard = discard_link_down, .message = type_name<link_down>()};

}  // namespace troupe::detail
