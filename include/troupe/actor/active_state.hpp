// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <troupe/actor/timer.hpp>

namespace troupe::detail {

using state_index = std::uint8_t;                // in the list of a machine's states
inline constexpr state_index no_state = 0xff;    // «around all states», as a parent or a scope
inline constexpr std::size_t states_max = 0xff;  // what a state_index can tell apart

/// What a machine does on its way into a state and out of it: a static record each.
struct state_record {
  std::string_view name;
  state_index parent = no_state;
  state_index first_child = no_state;
  state_index limit = no_state;  // its place among the time limits; no_state: it has none
  void (*on_enter)(void* machine) = nullptr;  // null: nothing
  void (*on_exit)(void* machine) = nullptr;
  timer (*arm_limit)(void* machine) = nullptr;
};

/// Where a handler leads: a static record each.
struct transition {
  enum class kind : std::uint8_t { stays, enters, shallow_history, deep_history };
  kind how = kind::stays;
  state_index scope = no_state;  // the innermost state that is neither left nor entered
  state_index target = no_state;
};

/// The state in which a machine is, and the way from one to the next.
///
/// Threads:   the actor's turns.
/// Invariant: between two messages it is in a state without children. The time limits of exactly those
///            states are armed in which it is, unless they have passed.
/// Cost:      a change of state is an indirect call for each entry or exit action, and for each time
///            limit a mutex of the system. It allocates nothing.
class active_state {
 public:
  active_state(const state_record* states, std::size_t count, std::size_t limits, bool remembers);

  /// While actions run: the innermost one that has been entered and not been left yet.
  [[nodiscard]] state_index innermost() const noexcept { return innermost_; }
  [[nodiscard]] bool is_in(state_index state) const noexcept;

  void start(void* machine);
  void change(void* machine, const transition& how);

 private:
  void leave(void* machine);
  void enter(void* machine, state_index state);
  void enter_down_to(void* machine, state_index state, state_index scope);

  const state_record* const states_;
  const std::unique_ptr<timer[]> limits_;            // null: it has none
  const std::unique_ptr<state_index[]> last_child_;  // of each state; null: no history is asked for
  state_index innermost_ = no_state;
};

}  // namespace troupe::detail
