// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace troupe::lua::detail {

/// A subset of the 256 characters.
class character_set {
 public:
  constexpr bool has(char c) const noexcept {
    const auto code = static_cast<unsigned char>(c);
    return (words_[code / 64] >> (code % 64) & 1) != 0;
  }
  constexpr void add(char c) noexcept {
    const auto code = static_cast<unsigned char>(c);
    words_[code / 64] |= std::uint64_t{1} << (code % 64);
  }
  constexpr void add(const character_set& all) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= all.words_[i];
  }
  constexpr void invert() noexcept {
    for (std::uint64_t& word : words_) word = ~word;
  }

  /// Returns the set for the letter of a class such as %a, in the C locale. A capital letter gives
  /// the complement. Returns null for a character that names no class and stands for itself.
  static const character_set* of_class(char letter) noexcept;

 private:
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace troupe::lua::detail
