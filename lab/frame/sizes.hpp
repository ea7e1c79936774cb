// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::lab {

/// The default upper limit of a size.
inline constexpr std::uint64_t most_by_default = std::numeric_limits<std::uint32_t>::max();

/// A number that determines the size of an experiment; on the command line `--<name> N`.
struct size_option {
  std::string_view name;
  std::string_view help;
  std::uint64_t value;  ///< the published value
  std::uint64_t smoke;  ///< with --smoke: the whole experiment takes seconds
  std::uint64_t least = 1;
  std::uint64_t most = most_by_default;
  std::uint64_t quick = 0;  ///< with `all --quick`; 0: between the two, see quick_value()
};

/// Returns the geometric mean of the published size and that of --smoke, unless the experiment
/// specifies another value. If --smoke takes a hundredth of the published size, this is a tenth of
/// it.
inline std::uint64_t quick_value(const size_option& of) {
  if (of.quick != 0) return of.quick;
  const double between = std::sqrt(static_cast<double>(of.value) * static_cast<double>(of.smoke));
  return std::clamp(static_cast<std::uint64_t>(std::llround(between)), of.least, of.most);
}

/// The sizes of one run, by name.
class sizes {
 public:
  void set(std::string_view name, std::uint64_t value) { all_.emplace_back(name, value); }

  /// Throws std::out_of_range for a size that the experiment does not have.
  std::uint64_t operator[](std::string_view name) const {
    for (const auto& [each, value] : all_) {
      if (each == name) return value;
    }
    throw std::out_of_range("the experiment has no size " + std::string(name));
  }

  std::uint64_t get(std::string_view name, std::uint64_t otherwise) const {
    for (const auto& [each, value] : all_) {
      if (each == name) return value;
    }
    return otherwise;
  }

  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<std::pair<std::string, std::uint64_t>> all_;
};

}  // namespace troupe::lab
