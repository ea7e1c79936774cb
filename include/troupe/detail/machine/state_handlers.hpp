// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>

#include <troupe/detail/machine/state_places.hpp>
#include <troupe/machine/statechart.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>

// Finds, at compile time, the handler of a message in a state of a machine.

namespace troupe::detail {

template <class A, class S, class M, class... More>
concept has_handler_in = requires { typename on_result<A, S, M, More...>; } &&
                         (declares_on<A, on_result<A, S, M, More...>, S, M, More...> ||
                          declares_on<A, on_result<A, S, M, More...>, S, const M&, More...> ||
                          declares_on<A, on_result<A, S, M, More...>, S, M&&, More...>);

template <class A, class S, class M>
concept handles_with_sender_in =
    has_handler_in<A, S, M, address> || has_handler_in<A, S, M, const address&>;

// The handler on(S, M, reply<R>), which may reply after it has returned.
template <class R, class Out>
struct later_form {
  using reply = R;
  using result = Out;
};
template <class S, class M, class C, class R, class Out>
later_form<R, Out> deduce_later_form(Out (C::*)(S, M, reply<R>));
template <class S, class M, class C, class R, class Out>
later_form<R, Out> deduce_later_form(Out (C::*)(S, M, reply<R>) const);

template <class A, class S, class M>
consteval auto find_later_form() {
  if constexpr (requires { deduce_later_form<S, M>(&A::on); }) {
    return decltype(deduce_later_form<S, M>(&A::on)){};
  } else if constexpr (requires { deduce_later_form<S, const M&>(&A::on); }) {
    return decltype(deduce_later_form<S, const M&>(&A::on)){};
  } else if constexpr (requires { deduce_later_form<S, M&&>(&A::on); }) {
    return decltype(deduce_later_form<S, M&&>(&A::on)){};
  }
}

template <class A, class S, class M>
concept replies_later_in = requires { typename decltype(find_later_form<A, S, M>())::reply; };

/// True if S itself has a handler of M.
template <class A, class S, class M>
concept handles_in =
    has_handler_in<A, S, M> || handles_with_sender_in<A, S, M> || replies_later_in<A, S, M>;
template <class A, class M>
concept handles_in_any_state =
    has_handler<A, M> || declares_with_sender<A, M> || replies_later<A, M>;

template <class S, class M>
inline constexpr bool defers = false;
template <class S, class M>
  requires requires { typename S::defers; }
inline constexpr bool defers<S, M> = S::defers::template contains<M>;

/// Result of the search: the handler that S declares (void: the actor's own).
template <class S>
struct handled_in {
  using in = S;
};
/// Result of the search: no handler, and the policy of the state for that.
template <class Policy>
struct unhandled_as {
  using policy = Policy;
};

template <class S, class Policy>
struct policy_in {
  using type = Policy;
};
template <class S>
  requires requires { typename S::unhandled; }
struct policy_in<S, void> {
  using type = typename S::unhandled;
};

/// Searches from a state outwards. `Policy`: that of the nearest state that declares one.
template <class A, class M, class S, class Policy = void>
consteval auto find_handler() {
  if constexpr (std::is_void_v<S>) {
    if constexpr (handles_in_any_state<A, M>) {
      return handled_in<void>{};
    } else if constexpr (std::is_void_v<Policy>) {
      return unhandled_as<statechart::ignored>{};
    } else {
      return unhandled_as<Policy>{};
    }
  } else if constexpr (handles_in<A, S, M>) {
    return handled_in<S>{};
  } else if constexpr (defers<S, M>) {
    return unhandled_as<statechart::deferred>{};
  } else {
    return find_handler<A, M, typename parent_of<S>::type, typename policy_in<S, Policy>::type>();
  }
}

template <class A, class M, class S>
using found_handler = decltype(find_handler<A, M, S>());

/// True if S itself (void: the actor) has a handler of M.
template <class A, class M, class S>
inline constexpr bool declares_handler =
    std::same_as<decltype(find_handler<A, M, S>()), handled_in<S>>;

}  // namespace troupe::detail
