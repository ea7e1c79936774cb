// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <troupe/base/clock.hpp>
#include <troupe/message/address.hpp>

namespace troupe {

/// Who was still there when system::shutdown() gave up waiting, and what they were doing.
struct shutdown_report {
  struct straggler {
    address who;
    std::string name;
    std::string doing;  // "in on(withdraw)", "in its destructor", "waits for its pump", …
  };

  std::vector<straggler> stragglers;
  duration waited{};

  [[nodiscard]] bool complete() const noexcept { return stragglers.empty(); }
};

/// One line for each straggler, each ending in '\n'; empty if complete.
[[nodiscard]] std::string to_string(const shutdown_report& report);

}  // namespace troupe
