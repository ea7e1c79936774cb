// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>

#include <troupe/detail/machine/active_state.hpp>
#include <troupe/machine/statechart.hpp>
#include <troupe/message/handler.hpp>

// The states of a machine at compile time: their indices in the list, and their nesting. `void`
// stands for the scope around all states: the actor itself.

namespace troupe::detail {

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

// A missing list is an error of its own, and must not cause further errors.
template <class A>
concept lists_states = requires { for_each_state(typename A::states{}, [](auto*) {}); };

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

/// Returns the innermost state that contains both, which may be one of them; for one state: its
/// parent.
constexpr state_index scope_of(auto list, state_index a, state_index b) {
  if (a == b) return parent_at(list, a);
  while (a != b) {
    state_index& deeper = depth_of(list, a) > depth_of(list, b) ? a : b;
    deeper = parent_at(list, deeper);
  }
  return a;
}

}  // namespace troupe::detail
