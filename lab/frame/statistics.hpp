// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace troupe::lab {

struct summary {
  double median;
  double min;
  double max;
};

/// Requires at least one value.
inline summary summarise(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

/// Values give only the order of magnitude if the difference of the greatest and the least is more
/// than this part of the median. Fewer than three runs are never marked.
inline constexpr double noisy_spread = 0.3;
inline constexpr std::size_t noisy_runs = 3;

inline bool is_noisy(const std::vector<double>& values) {
  if (values.size() < noisy_runs) return false;
  const summary all = summarise(values);
  return all.max - all.min > noisy_spread * std::fabs(all.median);
}

}  // namespace troupe::lab
