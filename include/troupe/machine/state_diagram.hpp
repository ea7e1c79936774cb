// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/detail/machine/active_state.hpp>
#include <troupe/detail/machine/state_dispatch.hpp>
#include <troupe/detail/machine/state_handlers.hpp>
#include <troupe/detail/machine/state_outcomes.hpp>
#include <troupe/detail/machine/state_places.hpp>
#include <troupe/detail/machine/state_records.hpp>
#include <troupe/machine/statechart.hpp>

namespace troupe {

namespace detail {

/// A description of a machine for printing. The states are those of its records.
struct machine_diagram {
  struct edge {
    state_index from = no_state;  // no_state: from all states
    std::string label;
    transition how;
  };
  struct box {
    state_record state;
    std::vector<std::string> lines;  // actions that do not leave the state
  };

  std::string_view name;
  std::vector<box> states;
  std::vector<std::string> lines;  // in all states
  std::vector<edge> edges;
  state_index active = no_state;  // no_state: no state is marked

  void add(state_index from, std::string label, const transition* begin, const transition* end);
  [[nodiscard]] std::vector<std::string>& lines_of(state_index state) {
    return state == no_state ? lines : states[state].lines;
  }
};

[[nodiscard]] std::string to_dot(const machine_diagram& of);

/// "after 5s"; or "after a time limit", if the duration is known only to the running machine.
[[nodiscard]] std::string limit_text(std::optional<duration> limit);

template <class A, class S>
std::optional<duration> limit_of(const A* machine) {
  if constexpr (requires { duration(A::limit(S{})); }) {
    return duration(A::limit(S{}));
  } else if constexpr (requires(const A& a) { duration(a.limit(S{})); }) {
    if (machine != nullptr) return duration(machine->limit(S{}));
  }
  return std::nullopt;
}

template <class S>
void describe_unhandled(std::vector<std::string>& lines) {
  if constexpr (requires { typename S::defers; }) {
    for_each_message(typename S::defers{}, [&]<class M>(M*) {
      lines.push_back(std::string(short_name<M>()) + " / defer");
    });
  }
  using policy = typename policy_in<S, void>::type;
  if constexpr (std::same_as<policy, statechart::deferred>)
    lines.emplace_back("all others / defer");
  if constexpr (std::same_as<policy, statechart::fails>) lines.emplace_back("all others / fail");
}

template <class A>
machine_diagram describe(const A* machine) {
  machine_diagram diagram{.name = short_name<A>(), .states = {}, .lines = {}, .edges = {}};
  for_each_state(typename A::states{}, [&]<class S>(S*) {
    const state_record& state = state_records_of<A>[diagram.states.size()];
    diagram.states.push_back({state, {}});
    auto& lines = diagram.states.back().lines;
    if (state.on_enter != nullptr) lines.emplace_back("entry /");
    if (state.on_exit != nullptr) lines.emplace_back("exit /");
    describe_unhandled<S>(lines);
  });
  for_each_handler<A>([&]<class M, class S>(M*, S*) {
    std::string label(short_name<M>());
    if constexpr (std::same_as<M, statechart::time_limit>) {
      label = limit_text(limit_of<A, S>(machine));
    }
    if constexpr (outcome_of<A, M, S>::may_go) {
      const auto& all = transitions_to<A, S, typename outcome_of<A, M, S>::targets>::all;
      diagram.add(index_of<A, S>, std::move(label), std::begin(all), std::end(all));
    } else {
      diagram.add(index_of<A, S>, std::move(label), nullptr, nullptr);
    }
  });
  if (machine != nullptr) diagram.active = machine_of<A>::innermost(*machine);
  return diagram;
}

}  // namespace detail

/// Returns a diagram of a machine class for Graphviz. It shows nested states and their initial
/// states, entry and exit actions, handlers that stay, transitions including those to histories and
/// by time limits, deferred messages, and messages that fail the actor.
///
/// Threads: any. With a machine: its turns.
template <class Machine>
[[nodiscard]] std::string to_dot() {
  return detail::to_dot(detail::describe<Machine>(nullptr));
}
/// Returns a diagram of a machine, as above, with its current state marked.
template <class Machine>
[[nodiscard]] std::string to_dot(const Machine& machine) {
  return detail::to_dot(detail::describe<Machine>(&machine));
}

}  // namespace troupe
