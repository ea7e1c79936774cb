// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

#include <troupe/sim/choices.hpp>

namespace troupe::sim {

inline constexpr std::string_view first_word_of_log = "seed ";

/// Produces the text of a log piece by piece: `take` is called with each piece as a
/// std::string_view.
///
/// Threads: also usable in a signal handler if `take` is: this function allocates nothing.
template <class Take>
void text_of(const choice_log& log, Take&& take) {
  const auto number = [&](auto value) {
    std::array<char, 20> digits{};  // the digits of the largest 64-bit number
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    take(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  };
  take(first_word_of_log);
  number(log.seed);
  take(std::string_view("\n"));
  for (const auto& each : log.choices) {
    number(each.chosen);
    take(std::string_view(" "));
    number(each.count);
    take(std::string_view(" "));
    take(std::string_view(each.of));
    take(std::string_view("\n"));
  }
}

}  // namespace troupe::sim
