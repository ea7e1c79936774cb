// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

// ASCII functions for the text of HTTP, independent of locales. WebSocket texts are UTF-8.

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

/// An order in which two texts are equivalent if equal_ignoring_case().
[[nodiscard]] constexpr bool less_ignoring_case(std::string_view a, std::string_view b) noexcept {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const char left = to_lower(a[i]);
    const char right = to_lower(b[i]);
    if (left != right) return left < right;
  }
  return a.size() < b.size();
}

[[nodiscard]] constexpr std::string_view trimmed(std::string_view s) noexcept {
  constexpr std::string_view blank = " \t";
  const std::size_t begin = s.find_first_not_of(blank);
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(blank) - begin + 1);
}

/// The value of a hexadecimal digit, or -1.
[[nodiscard]] constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Visible ASCII except separators.
[[nodiscard]] constexpr bool is_token_character(char c) noexcept {
  constexpr std::string_view separators = "()<>@,;:\\\"/[]?={}";
  return c > 0x20 && c < 0x7f && separators.find(c) == std::string_view::npos;
}

/// A token of HTTP: the name of a header, or of a subprotocol.
[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
  for (const char c : text) {
    if (!is_token_character(c)) return false;
  }
  return !text.empty();
}

/// True for the bytes of a header's value: visible ASCII, blanks, and bytes above ASCII.
[[nodiscard]] constexpr bool can_stand_in_field(char c) noexcept {
  return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) || c == '\t';
}

/// Calls `each` with every non-empty element of a comma-separated list, trimmed.
template <class Each>
constexpr void for_each_element(std::string_view list, Each&& each) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view one = trimmed(list.substr(0, comma));
    if (!one.empty()) each(one);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
}

/// For text that is UTF-8 so far: the last character is incomplete.
[[nodiscard]] constexpr bool ends_within_character(std::string_view s) noexcept {
  for (std::size_t back = 1; back <= 3 && back <= s.size(); ++back) {
    const auto byte = static_cast<unsigned char>(s[s.size() - back]);
    if (byte < 0x80) return false;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4u : byte >= 0xe0 ? 3u : 2u);
  }
  return false;
}

}  // namespace troupe::http::detail
