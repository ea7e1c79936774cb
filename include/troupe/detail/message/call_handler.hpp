// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <troupe/detail/message/dispatch.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>

// Calls a handler with a message that is not in an envelope made for this pair of actor class and
// message.

namespace troupe::detail {

template <class A, class M, class... Sender>
void call_with_own(A& actor, M& message, const Sender&... sender) {
  using result = on_result<A, M, Sender...>;
  if constexpr (handler_result<result>::is_coroutine) {
    start_coroutine<A, M, result>(actor, message, sender...);
  } else {
    actor.on(std::move(message), sender...);
  }
}

// A class that chooses its handlers may stash the envelope, so it gets one of the usual kind.
template <class A, class M>
void call_with_envelope(A& actor, M& message, const address& sender) {
  constexpr bool with_sender = handles_with_sender<A, M>;
  const dispatch& how = promised_dispatch_of<A, M>;
  auto* const e = make_envelope<with_sender>(how, std::move(message));
  if constexpr (with_sender) e->sender = sender;
  how.run(&actor, *e);
}

/// Calls a handler with a message that it owns. Throws the exceptions that leave the handler.
template <class A, class M>
void call_handler(A& actor, M&& message, [[maybe_unused]] const address& sender) {
  static_assert(!std::is_reference_v<M>);
  if constexpr (chooses_handler<A, M>()) {
    call_with_envelope(actor, message, sender);
  } else if constexpr (handles_with_sender<A, M>) {
    call_with_own(actor, message, sender);
  } else if constexpr (handles_batches<A, M>) {
    call_with_one(actor, message);
  } else if constexpr (!has_handler<A, M>) {
    actor.on(std::move(message), reply<later_reply<A, M>>{});  // there is no requester
  } else {
    call_with_own(actor, message);
  }
}

template <class A, class M, class... Sender>
concept takes_shared = requires { typename on_result<A, const M&, Sender...>; } &&
                       declares_on<A, on_result<A, const M&, Sender...>, const M&, Sender...>;

/// True if a reference to a message that others read as well is sufficient for the handler.
template <class A, class M>
concept handles_shared =
    !chooses_handler<A, M>() &&
    (takes_shared<A, M> || takes_shared<A, M, address> || takes_shared<A, M, const address&>);

/// Calls a handler with a message that others read as well: a handler that takes a value gets a
/// copy.
template <class A, class M>
void call_handler_shared(A& actor, const M& message, [[maybe_unused]] const address& sender) {
  if constexpr (!handles_shared<A, M>) {
    call_handler(actor, M(message), sender);
  } else if constexpr (handles_with_sender<A, M>) {
    actor.on(message, sender);
  } else {
    actor.on(message);
  }
}

}  // namespace troupe::detail
