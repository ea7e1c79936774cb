// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <troupe/actor/active_state.hpp>
#include <troupe/actor/statechart.hpp>
#include <troupe/actor/task.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>

// What a machine has declared, found by the compiler: the places of its states, who handles a message in
// a state, and where handlers lead. `void` stands for what is around all states: the actor itself.

namespace troupe::detail {

// ── States ────────────────────────────────────────────────────────────────────────────────────

template <class List, class S>
inline constexpr std::size_t times_listed = 0;
template <class... Ss, class S>
inline constexpr std::size_t times_listed<states<Ss...>, S> =
    (std::size_t{0} + ... + (std::same_as<Ss, S> ? 1 : 0));

template <class List, class S>
inline constexpr state_index index_in = no_state;
template <class... Ss, class S>
inline constexpr state_index index_in<states<Ss...>, S> = [] {
  state_index at = 0;
  return ((std::same_as<Ss, S> || (++at, false)) || ...) ? at : no_state;
}();

template <class A, class S>
inline constexpr state_index index_of = index_in<typename A::states, S>;

template <class S>
struct parent_of {
  using type = void;
};
template <class S>
  requires requires { typename S::parent; }
struct parent_of<S> {
  using type = typename S::parent;
};

/// Calls `what` with an S* for each state.
template <class... Ss, class What>
constexpr void for_each_state(states<Ss...>, What&& what) {
  (what(static_cast<Ss*>(nullptr)), ...);
}
template <class... Ms, class What>
constexpr void for_each_message(messages<Ms...>, What&& what) {
  (what(static_cast<Ms*>(nullptr)), ...);
}

template <class... Ss>
constexpr state_index first_within(states<Ss...>, state_index parent) {
  state_index at = 0;
  const bool found =
      ((index_in<states<Ss...>, typename parent_of<Ss>::type> == parent || (++at, false)) || ...);
  return found && parent != no_state ? at : no_state;
}

template <class... Ss>
constexpr state_index parent_at(states<Ss...>, state_index state) {
  constexpr state_index parents[] = {index_in<states<Ss...>, typename parent_of<Ss>::type>...};
  return state == no_state ? no_state : parents[state];
}

constexpr std::size_t depth_of(auto list, state_index state) {
  std::size_t depth = 0;
  while (state != no_state) {
    state = parent_at(list, state);
    ++depth;
  }
  return depth;
}

/// The innermost state around both of them, which may be one of them; of one state: its parent.
constexpr state_index scope_of(auto list, state_index a, state_index b) {
  if (a == b) return parent_at(list, a);
  while (a != b) {
    state_index& deeper = depth_of(list, a) > depth_of(list, b) ? a : b;
    deeper = parent_at(list, deeper);
  }
  return a;
}

// ── Who handles a message ─────────────────────────────────────────────────────────────────────

template <class A, class S, class M, class... More>
concept has_handler_in = requires { typename on_result<A, S, M, More...>; } &&
                         (declares_on<A, on_result<A, S, M, More...>, S, M, More...> ||
                          declares_on<A, on_result<A, S, M, More...>, S, const M&, More...> ||
                          declares_on<A, on_result<A, S, M, More...>, S, M&&, More...>);

template <class A, class S, class M>
concept handles_with_sender_in =
    has_handler_in<A, S, M, address> || has_handler_in<A, S, M, const address&>;

// The handler on(S, M, reply<R>), whose answer is owed when it returns.
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

/// Whether S has a handler of M of its own.
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

/// Found: the handler that S declares (void: the actor's own).
template <class S>
struct handled_in {
  using in = S;
};
/// Found: nobody, and what the state says about that.
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

/// From a state outwards. `Policy`: what the nearest state has said that says something.
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

/// Whether S itself (void: the actor) has a handler of M.
template <class A, class M, class S>
inline constexpr bool declares_handler =
    std::same_as<decltype(find_handler<A, M, S>()), handled_in<S>>;

// ── What a handler returns ────────────────────────────────────────────────────────────────────

template <class A, class M, class S>
struct declared_result {
  using type = on_result<A, S, M>;
};
template <class A, class M, class S>
  requires handles_with_sender_in<A, S, M>
struct declared_result<A, M, S> {
  using type = on_result<A, S, M, address>;
};
template <class A, class M, class S>
  requires replies_later_in<A, S, M>
struct declared_result<A, M, S> {
  using type = typename decltype(find_later_form<A, S, M>())::result;
};
template <class A, class M>
struct declared_result<A, M, void> {
  using type = on_result<A, M>;
};
template <class A, class M>
  requires declares_with_sender<A, M>
struct declared_result<A, M, void> {
  using type = on_result<A, M, address>;
};
template <class A, class M>
  requires replies_later<A, M>
struct declared_result<A, M, void> {
  using type = void;
};

/// It stays where it is.
template <class R>
struct outcome {
  using result = R;
  static constexpr bool may_go = false;
};
template <class R>
struct outcome<task<R>> : outcome<R> {};
template <class R>
struct outcome<exclusive_task<R>> : outcome<R> {};
template <class... Targets>
struct outcome<statechart::to<Targets...>> {
  using result = void;
  static constexpr bool may_go = true;
  using targets = statechart::to<Targets...>;
};
/// Its result, and where it goes.
template <class R, class... Targets>
struct outcome<std::pair<R, statechart::to<Targets...>>> {
  using result = R;
  static constexpr bool may_go = true;
  using targets = statechart::to<Targets...>;
};

template <class A, class M, class S>
using outcome_of = outcome<typename declared_result<A, M, S>::type>;

/// What the handler of M that S declares (void: the actor's own) gives who asks.
template <class A, class M, class S>
consteval auto find_reply() {
  if constexpr (std::is_void_v<S>) {
    if constexpr (replies_later<A, M>) {
      return std::type_identity<later_reply<A, M>>{};
    } else {
      return std::type_identity<typename outcome_of<A, M, S>::result>{};
    }
  } else if constexpr (replies_later_in<A, S, M>) {
    return std::type_identity<typename decltype(find_later_form<A, S, M>())::reply>{};
  } else {
    return std::type_identity<typename outcome_of<A, M, S>::result>{};
  }
}

/// What M's handlers give who asks: as the first one says. void: nothing.
template <class A, class M, class S, class... More>
consteval auto find_reply_in(states<S, More...>) {
  if constexpr (declares_handler<A, M, S>) {
    return find_reply<A, M, S>();
  } else if constexpr (sizeof...(More) > 0) {
    return find_reply_in<A, M>(states<More...>{});
  } else if constexpr (declares_handler<A, M, void>) {
    return find_reply<A, M, void>();
  } else {
    return std::type_identity<void>{};
  }
}

/// The state in a target.
template <class T>
struct target_of {
  using state = T;
  static constexpr auto kind = transition::kind::enters;
};
template <>
struct target_of<statechart::stay> {
  using state = void;
  static constexpr auto kind = transition::kind::stays;
};
template <class S>
struct target_of<statechart::history<S>> {
  using state = S;
  static constexpr auto kind = transition::kind::shallow_history;
};
template <class S>
struct target_of<statechart::deep_history<S>> {
  using state = S;
  static constexpr auto kind = transition::kind::deep_history;
};

template <class A, class From, class T>
constexpr transition make_transition() {
  using target = target_of<T>;
  if (target::kind == transition::kind::stays) return {};
  constexpr state_index to = index_of<A, typename target::state>;
  constexpr state_index from = index_of<A, From>;
  return {target::kind, scope_of(typename A::states{}, from, to), to};
}

/// One for each target of a handler that From declares.
template <class A, class From, class Targets>
struct transitions_to;
template <class A, class From, class... Ts>
struct transitions_to<A, From, statechart::to<Ts...>> {
  static constexpr transition all[] = {make_transition<A, From, Ts>()...};

  template <class What>
  static constexpr void for_each(What&& what) {
    (what(static_cast<Ts*>(nullptr)), ...);
  }
};

}  // namespace troupe::detail
