// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include <troupe/actor/serial_group.hpp>
#include <troupe/scheduler/serial_executor.hpp>

#include "runtime.hpp"

namespace troupe {

struct serial_group_access {
  /// Throws std::invalid_argument if it is not a group of this system.
  static detail::serial_executor& executor_in(const detail::runtime& home, const serial_group& of) {
    if (of.home_ != &home || of.epoch_ != home.epoch()) {
      throw std::invalid_argument(
          "troupe: spawn_options::group belongs to another system, or to one that no longer "
          "exists: create the group with the system that spawns its actors");
    }
    return *of.shared_;
  }
};

}  // namespace troupe
