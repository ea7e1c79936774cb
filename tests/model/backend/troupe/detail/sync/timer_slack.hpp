// SPDX-License-Identifier: Apache-2.0
#pragma once

// Under the checker any deadline may pass at any time.

namespace troupe {
inline namespace checked {

class exact_deadlines {
 public:
  exact_deadlines() noexcept {}
  exact_deadlines(const exact_deadlines&) = delete;
  exact_deadlines& operator=(const exact_deadlines&) = delete;
};

}  // namespace checked
}  // namespace troupe
