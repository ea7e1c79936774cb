// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {
inline namespace native {

/// One T in the process for each Tag. It is created at the first use and never destroyed, so that
/// objects with static storage duration may use it until the end.
template <class T, class Tag = T>
class per_process {
 public:
  [[nodiscard]] static T& here() {
    static auto* const only = new T;
    return *only;
  }
};

}  // namespace native
}  // namespace troupe
