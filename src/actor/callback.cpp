// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/callback.hpp>

#include <exception>
#include <stdexcept>
#include <string>

#include <troupe/detail/actor/control_block.hpp>
#include <troupe/detail/actor/turn_context.hpp>
#include <troupe/detail/base/assert.hpp>

#include "runtime.hpp"

namespace troupe::detail {

runtime& system_of_handler(const char* what) {
  const turn_context& here = this_turn();
  if (here.running == nullptr || here.constructors != 0) {
    throw std::logic_error(std::string(what) +
                           " outside of a handler: no actor could receive the result. Call it in a "
                           "handler, or in on_start() instead of the constructor");
  }
  return here.running->home();
}

void run_completed_elsewhere(void*, envelope&) {
  TROUPE_EXPECTS(false, "the request of a completion was sent to an actor");
  std::terminate();
}

}  // namespace troupe::detail
