// SPDX-License-Identifier: Apache-2.0
#include <troupe/testkit/look.hpp>

#include <stdexcept>

#include <troupe/actor/conductor.hpp>
#include <troupe/actor/control_block.hpp>
#include <troupe/testkit/mismatch.hpp>

#include "actor/runtime.hpp"

namespace troupe::testkit::detail {

const void* object_at_rest(troupe::detail::control_block& of) {
  using troupe::detail::conductor;
  refuse_in_a_turn("look()");
  const conductor* const here = conductor::here();
  // The system of a terminated actor may be gone as well. In an actor's last turn, its object may
  // be partly destroyed.
  const bool has_ended = of.line().now().ending();
  if (here == nullptr || (!has_ended && of.home().conducted_by() != here)) {
    throw std::logic_error(
        "troupe: look() was called for an actor outside of this thread's simulation, which may be "
        "in the middle of a turn: ask the actor instead");
  }
  return has_ended || of.is_between() ? nullptr : of.object();
}

}  // namespace troupe::testkit::detail
