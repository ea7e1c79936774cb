// SPDX-License-Identifier: Apache-2.0
#include "nearest.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::detail {

std::size_t distance(std::string_view one, std::string_view other) {
  // Row i holds the distances between the first i characters of `one` and each prefix of `other`.
  std::vector<std::size_t> before_last(other.size() + 1), last(other.size() + 1), row(last);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= one.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row.back();
}

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& each : names) {
    const std::size_t far = distance(name, each);
    if (far >= least || far >= each.size()) continue;
    least = far;
    best = each;
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  const std::string meant = nearest(name, names);
  return meant.empty() ? "" : "; did you mean " + meant + "?";
}

}  // namespace troupe::detail
