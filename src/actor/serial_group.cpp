// SPDX-License-Identifier: Apache-2.0
#include "serial_group.hpp"

#include <troupe/actor/system.hpp>
#include <troupe/detail/actor/control_block.hpp>

namespace troupe {

namespace {

std::shared_ptr<detail::serial_executor> make_executor(detail::runtime& home,
                                                       std::string_view dispatcher) {
  if (home.driver() == nullptr) {
    home.pool(dispatcher).gives_turns_by(detail::control_block::turn_by_executor);
  }
  return {&detail::serial_executor::make(home.executor_of(dispatcher)),
          [](detail::serial_executor* one) noexcept { one->let_go(); }};
}

}  // namespace

serial_group::serial_group(troupe::system& in, std::string_view dispatcher)
    : shared_(make_executor(detail::system_access::of(in), dispatcher)),
      home_(&detail::system_access::of(in)),
      epoch_(home_->epoch()) {}

}  // namespace troupe
