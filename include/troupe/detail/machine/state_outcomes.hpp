// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <troupe/actor/task.hpp>
#include <troupe/detail/machine/active_state.hpp>
#include <troupe/detail/machine/state_handlers.hpp>
#include <troupe/detail/machine/state_places.hpp>
#include <troupe/machine/statechart.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>

// The results of a machine's handlers: target states and replies.

namespace troupe::detail {

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

/// A handler that stays in the current state.
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
/// A handler that returns a result and a target.
template <class R, class... Targets>
struct outcome<std::pair<R, statechart::to<Targets...>>> {
  using result = R;
  static constexpr bool may_go = true;
  using targets = statechart::to<Targets...>;
};

template <class A, class M, class S>
using outcome_of = outcome<typename declared_result<A, M, S>::type>;

/// The type with which the handler of M that S declares (void: the actor's own) replies.
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

/// The type with which the handlers of M reply, according to the first one. void: no reply.
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

template <class A, class M>
consteval auto find_reply_in_machine() {
  if constexpr (lists_states<A>) {
    return find_reply_in<A, M>(typename A::states{});
  } else {
    return std::type_identity<void>{};
  }
}

/// The state that a target names.
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

/// The transitions to each target of a handler that From declares.
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
