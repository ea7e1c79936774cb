// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/blocking.hpp>

#include <troupe/actor/control_block.hpp>

namespace troupe::detail {

void begin_blocking() noexcept {
  control_block* const me = this_turn().running;
  if (me != nullptr) (void)me->runs_on().will_block();
}

}  // namespace troupe::detail
