// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/function_actor.hpp>

#include <stdexcept>
#include <string>

namespace troupe::detail {

void receives_no_such_message(const char* member, std::string_view actor) {
  throw std::logic_error("context::" + std::string(member) +
                         "() waits for a message type that was not listed when " +
                         std::string(actor) + " was spawned: add it to spawn<…>()");
}

}  // namespace troupe::detail
