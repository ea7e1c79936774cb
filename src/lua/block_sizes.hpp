// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace troupe::lua::detail {

/// Tracks the size of the largest of a number of blocks, rounded up to the next power of two.
///
/// Cost: a few instructions per call, regardless of the number of blocks.
class block_sizes {
 public:
  void add(std::size_t bytes) noexcept {
    const auto width = static_cast<std::size_t>(std::bit_width(bytes));
    ++counts_[width];
    there_ |= std::uint64_t{1} << width;
  }
  void remove(std::size_t bytes) noexcept {
    const auto width = static_cast<std::size_t>(std::bit_width(bytes));
    if (--counts_[width] == 0) there_ &= ~(std::uint64_t{1} << width);
  }
  /// Returns 0 if there are no blocks.
  [[nodiscard]] std::size_t largest() const noexcept { return std::bit_floor(there_); }

 private:
  // Indexed by bit width: block sizes below 2 to the power of the index. No size has a width of 64.
  std::array<std::uint32_t, 64> counts_{};
  std::uint64_t there_ = 0;
};

}  // namespace troupe::lua::detail
