// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <troupe/actor/timer.hpp>
#include <troupe/base/clock.hpp>
#include <troupe/detail/machine/active_state.hpp>
#include <troupe/detail/machine/state_handlers.hpp>
#include <troupe/detail/machine/state_outcomes.hpp>
#include <troupe/detail/machine/state_places.hpp>
#include <troupe/detail/message/envelope.hpp>
#include <troupe/machine/statechart.hpp>
#include <troupe/message/address.hpp>
#include <troupe/message/handler.hpp>
#include <troupe/message/type_name.hpp>

// The static records of a machine's states, and properties computed from all its handlers.

namespace troupe::detail {

/// The last part of a type's name: `open` of `home::door::open`.
template <class T>
constexpr std::string_view short_name() noexcept {
  std::string_view name = type_name<T>();
  const std::string_view before_arguments = name.substr(0, name.find('<'));
  if (const auto colons = before_arguments.rfind("::"); colons != std::string_view::npos) {
    name.remove_prefix(colons + 2);
  }
  return name;
}

template <class A, class S>
concept has_limit = requires(A& a) { duration(a.limit(S{})); };

template <class A>
struct machine_of;

template <class A, class S>
void run_on_enter(void* machine) {
  static_cast<A*>(machine)->on_enter(S{});
}
template <class A, class S>
void run_on_exit(void* machine) {
  static_cast<A*>(machine)->on_exit(S{});
}

template <class A, class S>
void run_limit(void* machine, envelope& message) {
  free_envelope(static_cast<message_envelope<statechart::time_limit, false>&>(message));
  machine_of<A>::template call<statechart::time_limit, S>(*static_cast<A*>(machine),
                                                          statechart::time_limit{}, address{});
}

/// The record of a time limit as a message. That message never waits in a mailbox itself, because
/// it is part of its timer's tick.
template <class A, class S>
inline constexpr dispatch limit_dispatch{.run = run_limit<A, S>,
                                         .discard = discard_message<statechart::time_limit, false>,
                                         .message = type_name<statechart::time_limit>(),
                                         .internal = true};

template <class A, class S>
timer arm_limit(void* machine) {
  A& a = *static_cast<A*>(machine);
  return arm_once<false>(machine_of<A>::block(a), limit_dispatch<A, S>, duration(a.limit(S{})),
                         statechart::time_limit{});
}

template <class A>
constexpr auto make_state_records() {
  using list = typename A::states;
  std::array<state_record, list::size> all;
  state_index at = 0;
  state_index limits = 0;
  for_each_state(list{}, [&]<class S>(S*) {
    state_record& state = all[at];
    state.name = short_name<S>();
    state.parent = parent_at(list{}, at);
    state.first_child = first_within(list{}, at);
    if constexpr (requires(A& a) { a.on_enter(S{}); }) state.on_enter = run_on_enter<A, S>;
    if constexpr (requires(A& a) { a.on_exit(S{}); }) state.on_exit = run_on_exit<A, S>;
    if constexpr (has_limit<A, S> && declares_handler<A, statechart::time_limit, S>) {
      state.limit = limits++;
      state.arm_limit = arm_limit<A, S>;
    }
    ++at;
  });
  return all;
}

template <class A>
inline constexpr auto state_records_of = make_state_records<A>();

template <class A>
constexpr std::size_t count_limits_of_states() {
  std::size_t limits = 0;
  for (const state_record& each : state_records_of<A>) limits += each.limit != no_state ? 1 : 0;
  return limits;
}

/// Calls `what` with an M* and an S* for each handler that S declares (void: the actor itself).
template <class A, class What>
constexpr void for_each_handler(What&& what) {
  const auto look_in = [&]<class S>(S* state) {
    const auto look = [&]<class M>(M* message) {
      if constexpr (declares_handler<A, M, S>) what(message, state);
    };
    for_each_message(typename A::messages{}, look);
    if constexpr (!std::is_void_v<S>) look(static_cast<statechart::time_limit*>(nullptr));
  };
  for_each_state(typename A::states{}, look_in);
  look_in(static_cast<void*>(nullptr));
}

/// Returns whether any state defers messages.
template <class A>
constexpr bool defers_messages() {
  bool defers = false;
  for_each_state(typename A::states{}, [&]<class S>(S*) {
    defers |= requires { typename S::defers; } ||
              std::same_as<typename policy_in<S, void>::type, statechart::deferred>;
  });
  return defers;
}

/// Returns whether any handler has a history as its target.
template <class A>
constexpr bool asks_for_history() {
  bool asks = false;
  for_each_handler<A>([&]<class M, class S>(M*, S*) {
    if constexpr (outcome_of<A, M, S>::may_go) {
      transitions_to<A, S, typename outcome_of<A, M, S>::targets>::for_each([&]<class T>(T*) {
        asks |= target_of<T>::kind == transition::kind::shallow_history ||
                target_of<T>::kind == transition::kind::deep_history;
      });
    }
  });
  return asks;
}

}  // namespace troupe::detail
