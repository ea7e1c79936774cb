// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {
inline namespace native {

/// While it exists, the calling thread wakes up within microseconds of its deadlines. By default
/// Linux delays wake-ups by up to 50 µs, to combine them with others.
///
/// Cost: two system calls, and two more in the destructor.
class exact_deadlines {
 public:
  exact_deadlines() noexcept;
  exact_deadlines(const exact_deadlines&) = delete;
  exact_deadlines& operator=(const exact_deadlines&) = delete;
  ~exact_deadlines();

 private:
  long before_;  // negative: unchanged
};

}  // namespace native
}  // namespace troupe
