// SPDX-License-Identifier: Apache-2.0

#include "character_set.hpp"

#include <string_view>

namespace troupe::lua::detail {
namespace {

// z, of Lua 5.1, is no longer in the manual, but Lua still supports it.
constexpr std::string_view letters = "acdglpsuwxz";

constexpr bool is_in_class(char letter, int c) {
  const bool lower = c >= 'a' && c <= 'z';
  const bool upper = c >= 'A' && c <= 'Z';
  const bool digit = c >= '0' && c <= '9';
  const bool visible = c > ' ' && c < 0x7f;
  switch (letter) {
    case 'a':
      return lower || upper;
    case 'c':
      return c < ' ' || c == 0x7f;
    case 'd':
      return digit;
    case 'g':
      return visible;
    case 'l':
      return lower;
    case 'p':
      return visible && !lower && !upper && !digit;
    case 's':
      return c == ' ' || (c >= '\t' && c <= '\r');
    case 'u':
      return upper;
    case 'w':
      return lower || upper || digit;
    case 'x':
      return digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    default:
      return c == 0;
  }
}

struct class_sets {
  std::array<character_set, 2 * letters.size()> sets{};
  std::array<std::uint8_t, 256> which{};  // from 1

  constexpr class_sets() {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      for (int c = 0; c < 256; ++c) {
        if (is_in_class(letters[i], c)) sets[2 * i].add(static_cast<char>(c));
      }
      sets[2 * i + 1] = sets[2 * i];
      sets[2 * i + 1].invert();
      const auto letter = static_cast<unsigned char>(letters[i]);
      which[letter] = static_cast<std::uint8_t>(2 * i + 1);
      which[letter - 'a' + 'A'] = static_cast<std::uint8_t>(2 * i + 2);
    }
  }
};

constexpr class_sets classes;

}  // namespace

const character_set* character_set::of_class(char letter) noexcept {
  const std::uint8_t which = classes.which[static_cast<unsigned char>(letter)];
  return which == 0 ? nullptr : &classes.sets[which - 1U];
}

}  // namespace troupe::lua::detail
