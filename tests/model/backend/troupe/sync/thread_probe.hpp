// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <troupe/base/clock.hpp>

// Under the checker, any thread in a turn may count as blocked.

namespace troupe {
inline namespace checked {

class thread_probe {
 public:
  void begin_here() noexcept {}
  [[nodiscard]] duration cpu_time() const noexcept { return duration::zero(); }
  [[nodiscard]] bool is_blocked() const noexcept { return true; }
  [[nodiscard]] bool has_ended() const noexcept { return true; }
};

}  // namespace checked
}  // namespace troupe
