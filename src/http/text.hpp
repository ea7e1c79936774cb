// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

// ASCII, as HTTP's own words are: locales do not come into it. WebSocket's texts are UTF-8.

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

/// What HTTP calls a token: the name of a header, or of a subprotocol.
[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
  constexpr std::string_view separators = "()<>@,;:\\\"/[]?={} \t";
  for (const char c : text) {
    if (c <= 0x20 || c == 0x7f || separators.find(c) != std::string_view::npos) return false;
  }
  return !text.empty();
}

/// Of what is UTF-8 so far: the last character lacks bytes.
[[nodiscard]] constexpr bool ends_within_character(std::string_view s) noexcept {
  for (std::size_t back = 1; back <= 3 && back <= s.size(); ++back) {
    const auto byte = static_cast<unsigned char>(s[s.size() - back]);
    if (byte < 0x80) return false;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4u : byte >= 0xe0 ? 3u : 2u);
  }
  return false;
}

}  // namespace troupe::http::detail
