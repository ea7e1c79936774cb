// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::lab {

/// A number that says how big an experiment is; on the command line `--<name> N`.
struct size_option {
  std::string_view name;
  std::string_view help;
  std::uint64_t value;  ///< what was published
  std::uint64_t smoke;  ///< with --smoke: the whole experiment within seconds
  std::uint64_t least = 1;
  std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
};

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

  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<std::pair<std::string, std::uint64_t>> all_;
};

}  // namespace troupe::lab
