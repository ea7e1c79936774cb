// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace troupe::lab {

/// Durations in nanoseconds, counted in classes of a 32nd of their size.
///
/// Threads: a plain value.
/// Cost:    some 15 KB, regardless of the number of durations.
class latencies {
 public:
  void add(std::uint64_t ns) noexcept {
    ++classes_[class_of(ns)];
    ++count_;
  }
  void clear() noexcept { *this = {}; }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// Returns the duration that this part of all durations does not exceed: the middle of its class;
  /// 0 without durations.
  [[nodiscard]] double quantile(double part) const noexcept {
    const double wanted = part * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      seen += classes_[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return middle_of(i);
    }
    return 0;
  }

 private:
  static constexpr unsigned bits = 5;  // of each value, after its highest set bit
  static constexpr std::size_t each = std::size_t{1} << bits;

  static constexpr std::size_t class_of(std::uint64_t ns) noexcept {
    if (ns < each) return static_cast<std::size_t>(ns);
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - 1 - bits;
    return (shift + 1) * each + static_cast<std::size_t>(ns >> shift) - each;
  }
  static constexpr double middle_of(std::size_t index) noexcept {
    if (index < each) return static_cast<double>(index);
    const auto shift = static_cast<unsigned>(index / each - 1);
    const std::uint64_t from = static_cast<std::uint64_t>(index % each + each) << shift;
    return static_cast<double>(from) + static_cast<double>(std::uint64_t{1} << shift) / 2;
  }

  std::array<std::uint64_t, each * (64 - bits + 1)> classes_{};
  std::uint64_t count_ = 0;
};

}  // namespace troupe::lab
