// SPDX-License-Identifier: Apache-2.0
#include <troupe/detail/machine/active_state.hpp>

#include <algorithm>

namespace troupe::detail {

active_state::active_state(const state_record* states, std::size_t count, std::size_t limits,
                           bool remembers)
    : states_(states),
      limits_(limits != 0 ? std::make_unique<timer[]>(limits) : nullptr),
      last_child_(remembers ? std::make_unique<state_index[]>(count) : nullptr) {
  if (remembers) std::fill_n(last_child_.get(), count, no_state);
}

bool active_state::is_in(state_index state) const noexcept {
  for (state_index at = innermost_; at != no_state; at = states_[at].parent) {
    if (at == state) return true;
  }
  return false;
}

void active_state::start(void* machine) {
  // The first state of the list that has no parent.
  state_index first = 0;
  while (states_[first].parent != no_state) ++first;
  change(machine, {transition::kind::enters, no_state, first});
}

void active_state::change(void* machine, const transition& how) {
  while (innermost_ != how.scope) leave(machine);
  enter_down_to(machine, how.target, how.scope);
  auto kind = how.how;
  while (states_[innermost_].first_child != no_state) {
    state_index next = states_[innermost_].first_child;
    if (kind != transition::kind::enters && last_child_[innermost_] != no_state) {
      next = last_child_[innermost_];
    }
    if (kind == transition::kind::shallow_history) kind = transition::kind::enters;
    enter(machine, next);
  }
}

// The time limit belongs to one stay in the state. It is cancelled in the actor's own turn, so
// nothing of it arrives afterwards, not even a tick that is already in the mailbox.
void active_state::leave(void* machine) {
  const state_index left = innermost_;
  const state_record& state = states_[left];
  if (state.on_exit != nullptr) state.on_exit(machine);
  if (state.limit != no_state) (void)limits_[state.limit].cancel();
  if (last_child_ != nullptr && state.parent != no_state) last_child_[state.parent] = left;
  innermost_ = state.parent;
}

// The time limit is computed after the entry action, which may set what it depends on.
void active_state::enter(void* machine, state_index entered) {
  const state_record& state = states_[entered];
  innermost_ = entered;
  if (state.on_enter != nullptr) state.on_enter(machine);
  if (state.limit != no_state) limits_[state.limit] = state.arm_limit(machine);
}

// Recursive; the depth is that of the nesting of states.
void active_state::enter_down_to(void* machine, state_index state, state_index scope) {
  if (state == scope) return;
  enter_down_to(machine, states_[state].parent, scope);
  enter(machine, state);
}

}  // namespace troupe::detail
