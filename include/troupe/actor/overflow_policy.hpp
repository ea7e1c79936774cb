// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <troupe/message/limits.hpp>

namespace troupe {

/// The action for a message that would exceed a mailbox's limits; `overflow` describes each one.
enum class overflow_policy : std::uint8_t {
  backpressure,
  refuse,
  drop_newest,
  drop_oldest,
  fail_receiver,
  redirect,
  route,     // only for a router: forwards every message
  of_class,  // only in spawn_options: the policy that the class declares
};

namespace detail {

/// True if the class declares the policy of its mailbox:
/// `static constexpr auto on_full = troupe::overflow_policy::refuse;`
template <class A>
concept declares_policy =
    requires { requires std::same_as<std::remove_cvref_t<decltype(A::on_full)>, overflow_policy>; };

template <class A>
consteval overflow_policy policy_of_class() {
  if constexpr (declares_policy<A>) {
    static_assert(A::on_full != overflow_policy::redirect && A::on_full != overflow_policy::route &&
                      A::on_full != overflow_policy::of_class,
                  "on_full of an actor class must be backpressure, refuse, drop_newest, "
                  "drop_oldest or fail_receiver");
    return A::on_full;
  } else {
    return overflow_policy::backpressure;
  }
}

// Nothing is known about a class that is incomplete where the message is sent. The concepts must
// not be evaluated in that case, because the compiler caches their first result.
template <class A, class M>
consteval bool can_be_refused() {
  if constexpr (requires { sizeof(A); }) {
    if constexpr (declares_limits<A>) {
      if (A::message_limits::template most<M>() != 0) return true;
    }
    return policy_of_class<A>() != overflow_policy::backpressure;
  } else {
    return false;
  }
}

/// True if sending an M to a full mailbox may lose it, according to the class's declarations.
template <class A, class M>
concept may_be_refused = can_be_refused<A, M>();

}  // namespace detail
}  // namespace troupe
