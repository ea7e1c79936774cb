// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <troupe/detail/message/batches.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/message/handler.hpp>
#include <troupe/message/limits.hpp>
#include <troupe/message/owned_bytes.hpp>
#include <troupe/message/priority.hpp>
#include <troupe/message/type_name.hpp>

// Fills in the record of each (actor, message) pair at compile time.

namespace troupe::detail {

template <class M, bool WithSender>
std::size_t owned_by_message(const envelope& message) noexcept {
  return owned_bytes(static_cast<const message_envelope<M, WithSender>&>(message).value);
}

// A separate function: in a constant expression this error would be followed by a second one.
template <class A, class M>
void run_never_again(void*, envelope&) {
  static_cast<void>(sizeof(cannot_be_redelivered<A, M>));
}

template <class A, class M>
consteval auto how_to_run() {
  if constexpr (chooses_handler<A, M>()) {
    return &A::handler_choice::template run<M>;
  } else if constexpr (redelivers<A, M>()) {
    if constexpr (can_be_redelivered<A, M>()) {
      return &run_redelivered<A, M, handles_with_sender<A, M>>;
    } else {
      return &run_never_again<A, M>;
    }
  } else if constexpr (handles_batches<A, M>) {
    return &run_batch<A, M>;
  } else {
    return &run_handler<A, M, handles_with_sender<A, M>>;
  }
}

template <class A, class M>
constexpr dispatch make_dispatch() noexcept {
  constexpr bool with_sender = handles_with_sender<A, M>;
  dispatch d{.run = how_to_run<A, M>(),
             .discard = how_to_discard<M, with_sender>(),
             .message = type_name<M>(),
             .wants_sender = with_sender,
             .weight = 1,
             .bytes = sizeof(message_envelope<M, with_sender>),
             .type = type_identity::of<M>()};
  if constexpr (tells_what_it_owns<M>) d.owned = owned_by_message<M, with_sender>;
  if constexpr (declares_limits<A>) {
    d.most = A::message_limits::template most<M>();
    d.limit = A::message_limits::template index<M>();
  }
  d.high = priority_of<M> == priority::high;
  d.plain = !d.high && d.most == 0;
  d.redelivered = redelivers<A, M>();
  return d;
}

/// The record of a pair, for messages that users send.
template <class A, class M>
inline constexpr dispatch dispatch_of = make_dispatch<A, M>();

/// As dispatch_of, for messages that the runtime promises to deliver: they do not count towards
/// limits, are always accepted, and arrive in the order of sending.
template <class A, class M>
inline constexpr dispatch promised_dispatch_of = [] {
  dispatch d = make_dispatch<A, M>();
  d.weight = 0;
  d.bytes = 0;
  d.owned = nullptr;
  d.most = 0;
  d.high = false;
  d.plain = true;
  return d;
}();

}  // namespace troupe::detail
