// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace troupe::lab {

/// An address and a number below 2^20 in one word, so that one step changes both. An address has 47
/// bits where Linux gives user space four levels of page tables (x86-64, AArch64), and blocks are
/// aligned to 16. That leaves 20 bits. The first pages of memory are never mapped, so small
/// addresses can have other meanings.
struct packed_word {
  static constexpr unsigned number_bits = 20;
  static constexpr std::uint64_t number_max = (std::uint64_t{1} << number_bits) - 1;

  std::uint64_t bits;

  static packed_word of(const void* address, std::uint64_t number) noexcept {
    return {reinterpret_cast<std::uintptr_t>(address) << 16 | number};
  }
  /// Returns one of the values that are not addresses.
  static constexpr packed_word special(std::uint64_t which, std::uint64_t number = 0) noexcept {
    return {which << number_bits | number};
  }

  [[nodiscard]] constexpr std::uint64_t number() const noexcept { return bits & number_max; }
  [[nodiscard]] constexpr bool is_special(std::uint64_t which) const noexcept {
    return bits >> number_bits == which;
  }
  [[nodiscard]] constexpr bool is_address() const noexcept { return bits >> number_bits >= 256; }
  template <class T>
  [[nodiscard]] T* address() const noexcept {
    return reinterpret_cast<T*>((bits & ~number_max) >> 16);
  }
};

}  // namespace troupe::lab
