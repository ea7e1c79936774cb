// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// ASCII, as HTTP's own words are: locales and Unicode do not come into it.

namespace troupe::http::detail {

[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

[[nodiscard]] constexpr std::string_view trimmed(std::string_view s) noexcept {
  constexpr std::string_view blank = " \t";
  const std::size_t begin = s.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(blank) - begin + 1);
}

}  // namespace troupe::http::detail
