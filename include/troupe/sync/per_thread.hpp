// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {
inline namespace native {

/// One T for each thread, for each Tag.
///
/// Cost: that of a thread_local which needs no initialisation at run time; T's default value must be
///       a constant. If T has a destructor, a check at each use.
template <class T, class Tag = T>
class per_thread {
 public:
  [[nodiscard]] static T& here() noexcept { return value_; }

 private:
  static constinit inline thread_local T value_{};
};

}  // namespace native
}  // namespace troupe
