// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <troupe/actor/timer.hpp>

namespace troupe::detail {

using state_index = std::uint8_t;              // index in the list of a machine's states
inline constexpr state_index no_state = 0xff;  // "around all states", as a parent or a scope
// number of states that a state_index can tell apart
inline constexpr std::size_t states_max = 0xff;

/// The actions of a machine on entering and leaving a state: one static record for each state.
struct state_record {
  std::string_view name;
  state_index parent = no_state;
  state_index first_child = no_state;
  state_index limit = no_state;  // its index among the time limits; no_state: it has none
  void (*on_enter)(void* machine) = nullptr;  // null: no action
  void (*on_exit)(void* machine) = nullptr;
  timer (*arm_limit)(void* machine) = nullptr;
};

/// The target of a handler: one static record for each handler.
struct transition {
  enum class kind : std::uint8_t { stays, enters, shallow_history, deep_history };
  kind how = kind::stays;
  state_index scope = no_state;  // the innermost state that is neither left nor entered
  state_index target = no_state;
};

/// The current state of a machine, and the change from one state to the next.
///
/// Threads:   the actor's turns.
/// Invariant: between two messages the current state has no children. A time limit is armed exactly
///            if its state is active and the limit has not expired.
/// Cost:      a change of state is an indirect call for each entry or exit action, and a mutex of
///            the system for each time limit. It allocates nothing.
class active_state {
 public:
  active_state(const state_record* states, std::size_t count, std::size_t limits, bool remembers);

  /// While actions run: the innermost state that has been entered and not yet been left.
  [[nodiscard]] state_index innermost() const noexcept { return innermost_; }
  [[nodiscard]] bool is_in(state_index state) const noexcept;

  void start(void* machine);
  void change(void* machine, const transition& how);

 private:
  void leave(void* machine);
  void enter(void* machine, state_index state);
  void enter_down_to(void* machine, state_index state, state_index scope);

  const state_record* const states_;
  const std::unique_ptr<timer[]> limits_;  // null: no state has a time limit
  // of each state; null: the machine uses no history
  const std::unique_ptr<state_index[]> last_child_;
  state_index innermost_ = no_state;
};

}  // namespace troupe::detail
