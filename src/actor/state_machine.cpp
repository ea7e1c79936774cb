// SPDX-License-Identifier: Apache-2.0
#include <troupe/actor/state_machine.hpp>

#include <stdexcept>
#include <string>

namespace troupe::detail {

void fail_unhandled(std::string_view machine, std::string_view state, std::string_view message) {
  throw std::logic_error(std::string(machine) + " got a " + std::string(message) +
                         " in the state " + std::string(state) +
                         ", which fails on unhandled messages: add on(" + std::string(state) +
                         ", " + std::string(message) + "), or defer the message");
}

}  // namespace troupe::detail
