// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <troupe/detail/machine/state_handlers.hpp>
#include <troupe/detail/machine/state_outcomes.hpp>
#include <troupe/detail/machine/state_places.hpp>
#include <troupe/detail/machine/state_records.hpp>
#include <troupe/machine/statechart.hpp>
#include <troupe/message/handler.hpp>

// Compile errors for machines with an invalid declaration. None of these types is ever defined. The
// compiler's error contains their name and the types concerned.

namespace troupe {

/// Compile error: the machine has no `using states = troupe::states<…>;` or no
/// `using messages = troupe::messages<…>;`.
template <class Machine>
struct machine_needs_a_list_of_states_and_one_of_messages;

/// Compile error: a state must be an empty class like `struct open : state {};`, or derived from
/// `in<parent>`: its data belongs in members of the machine.
template <class Machine, class State>
struct state_must_be_an_empty_class_derived_from_state;

/// Compile error: the state is a parent or a target, but is not listed. Add it to `states`.
template <class Machine, class State>
struct state_is_not_listed;
template <class Machine, class State>
struct state_is_listed_twice;

/// Compile error: the target is the history of a state without substates.
template <class Machine, class State>
struct history_of_a_state_without_children;

/// Compile error: a listed message has no handler. Add an `on` for it to a state or to the machine,
/// or remove it from `messages`.
template <class Machine, class Message>
struct message_is_handled_in_no_state;

/// Compile error: the message is in a state's `defers`, but is not listed. Add it to `messages`.
template <class Machine, class Message>
struct message_is_not_listed;

/// Compile error: a handler takes its state by reference. It must take the state by value:
/// `on(State, Message)`.
template <class Machine, class State, class Message>
struct handler_must_take_the_state_by_value;

template <class Machine, class State, class Message>
struct message_is_both_handled_and_deferred;

/// Compile error: handlers of one message reply with different types. A requester expects one type.
template <class Machine, class Message>
struct handlers_disagree_about_the_result;

/// Compile error: there is a limit(State), but no on(State, time_limit).
template <class Machine, class State>
struct time_limit_has_no_handler;
/// Compile error: there is an on(State, time_limit), but no limit(State).
template <class Machine, class State>
struct time_limit_has_no_duration;

/// Compile error: the machine defines on_start() itself. Use the on_enter() of the first state
/// instead.
template <class Machine>
struct machine_starts_by_itself;

/// Compile error: a handler that is a coroutine cannot change the state. It may send a message to
/// self(this), whose handler changes the state.
template <class Machine, class State, class Message>
struct coroutine_handler_cannot_lead_to_another_state;

/// Compile error: on_enter() and on_exit() cannot change the state. Send a message to self(this)
/// instead.
template <class Machine, class State>
struct action_must_return_nothing;

namespace detail {

/// Converts to an M, and to nothing else.
template <class M>
struct exactly {
  template <std::same_as<M> T>
  operator T() const;
};

template <class A, class S, class M>
concept takes_state_by_reference =
    !handles_in<A, S, M> &&
    (
        requires(A& a, S& s, exactly<M> m) { a.on(s, m); } ||
        requires(A& a, S& s, exactly<M> m, address sender) { a.on(s, m, sender); });

template <class A, class S>
inline constexpr bool is_listed = index_of<A, S> != no_state;

template <class A, class S>
inline constexpr bool has_children = first_within(typename A::states{}, index_of<A, S>) != no_state;

template <class A, class S>
void check_state() {
  using parent = typename parent_of<S>::type;
  if constexpr (!std::derived_from<S, statechart::state> || !std::is_empty_v<S> ||
                !std::default_initializable<S>) {
    static_cast<void>(sizeof(state_must_be_an_empty_class_derived_from_state<A, S>));
  } else if constexpr (times_listed<typename A::states, S> > 1) {
    static_cast<void>(sizeof(state_is_listed_twice<A, S>));
  } else if constexpr (!std::is_void_v<parent> && !is_listed<A, parent>) {
    static_cast<void>(sizeof(state_is_not_listed<A, parent>));
  } else if constexpr (has_limit<A, S> && !declares_handler<A, statechart::time_limit, S>) {
    static_cast<void>(sizeof(time_limit_has_no_handler<A, S>));
  } else if constexpr (!has_limit<A, S> && declares_handler<A, statechart::time_limit, S>) {
    static_cast<void>(sizeof(time_limit_has_no_duration<A, S>));
  }
  if constexpr (requires(A& a) { a.on_enter(S{}); }) {
    if constexpr (!std::is_void_v<decltype(std::declval<A&>().on_enter(S{}))>)
      static_cast<void>(sizeof(action_must_return_nothing<A, S>));
  }
  if constexpr (requires(A& a) { a.on_exit(S{}); }) {
    if constexpr (!std::is_void_v<decltype(std::declval<A&>().on_exit(S{}))>)
      static_cast<void>(sizeof(action_must_return_nothing<A, S>));
  }
  if constexpr (requires { typename S::defers; }) {
    for_each_message(typename S::defers{}, []<class M>(M*) {
      if constexpr (!A::messages::template contains<M>)
        static_cast<void>(sizeof(message_is_not_listed<A, M>));
    });
  }
}

template <class A, class T>
void check_target() {
  using state = typename target_of<T>::state;
  if constexpr (std::is_void_v<state>) {
    return;
  } else if constexpr (!is_listed<A, state>) {
    static_cast<void>(sizeof(state_is_not_listed<A, state>));
  } else if constexpr (target_of<T>::kind != transition::kind::enters && !has_children<A, state>) {
    static_cast<void>(sizeof(history_of_a_state_without_children<A, state>));
  }
}

template <class A, class M>
inline constexpr bool is_handled = [] {
  bool handled = declares_handler<A, M, void>;
  for_each_state(typename A::states{}, [&]<class S>(S*) { handled |= declares_handler<A, M, S>; });
  return handled;
}();

template <class A, class M, class R, class S>
consteval bool agrees() {
  if constexpr (declares_handler<A, M, S>) {
    return std::same_as<typename decltype(find_reply<A, M, S>())::type, R>;
  } else {
    return true;
  }
}

template <class A, class M, class... Ss>
consteval bool all_agree(states<Ss...>) {
  using R = typename decltype(find_reply_in_machine<A, M>())::type;
  return agrees<A, M, R, void>() && (agrees<A, M, R, Ss>() && ...);
}

template <class A, class M>
void check_message() {
  if constexpr (!is_handled<A, M>) {
    static_cast<void>(sizeof(message_is_handled_in_no_state<A, M>));
  } else if constexpr (!all_agree<A, M>(typename A::states{})) {
    static_cast<void>(sizeof(handlers_disagree_about_the_result<A, M>));
  }
}

template <class A, class S, class M>
void check_pair() {
  if constexpr (takes_state_by_reference<A, S, M>) {
    static_cast<void>(sizeof(handler_must_take_the_state_by_value<A, S, M>));
  } else if constexpr (declares_handler<A, M, S> && defers<S, M>) {
    static_cast<void>(sizeof(message_is_both_handled_and_deferred<A, S, M>));
  }
}

template <class A>
concept lists_states_and_messages =
    lists_states<A> && requires { for_each_message(typename A::messages{}, [](auto*) {}); };

/// Fails to compile for a machine with an invalid declaration; otherwise does nothing. It is not
/// consteval, which would add a second error to each.
template <class A>
void check_machine() {
  if constexpr (!requires {
                  requires std::same_as<decltype(&A::on_start), void (state_machine<A>::*)()>;
                }) {
    static_cast<void>(sizeof(machine_starts_by_itself<A>));
  }
  static_assert(A::states::size <= states_max, "a machine has at most 255 states");
  for_each_state(typename A::states{}, []<class S>(S*) {
    check_state<A, S>();
    for_each_message(typename A::messages{}, []<class M>(M*) { check_pair<A, S, M>(); });
  });
  for_each_message(typename A::messages{}, []<class M>(M*) { check_message<A, M>(); });
  for_each_handler<A>([]<class M, class S>(M*, S*) {
    if constexpr (outcome_of<A, M, S>::may_go &&
                  handler_result<typename declared_result<A, M, S>::type>::is_coroutine) {
      static_cast<void>(sizeof(coroutine_handler_cannot_lead_to_another_state<A, S, M>));
    } else if constexpr (outcome_of<A, M, S>::may_go) {
      transitions_to<A, S, typename outcome_of<A, M, S>::targets>::for_each(
          []<class T>(T*) { check_target<A, T>(); });
    }
  });
}

/// Returns the state of a machine that has not started yet.
template <class A>
active_state make_active_state() {
  if constexpr (!lists_states_and_messages<A>) {
    static_cast<void>(sizeof(machine_needs_a_list_of_states_and_one_of_messages<A>));
    return {nullptr, 0, 0, false};
  } else {
    check_machine<A>();
    return {state_records_of<A>.data(), A::states::size, count_limits_of_states<A>(),
            asks_for_history<A>()};
  }
}

}  // namespace detail
}  // namespace troupe
