// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/blocking.hpp>

#include <troupe/detail/actor/control_block.hpp>

namespace troupe::detail {

blocking_scope::blocking_scope() noexcept {
  control_block* const me = this_turn().running;
  if (me != nullptr) (void)me->runs_on().will_block();
}

blocking_scope::~blocking_scope() {
  control_block* const me = this_turn().running;
  if (me != nullptr) me->runs_on().has_blocked();
}

}  // namespace troupe::detail
