// SPDX-License-Identifier: Apache-2.0

#include "utf8.hpp"

#include <cstdint>
#include <cstring>

namespace troupe::lua::detail {

bool is_utf8(std::string_view text) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    constexpr std::uint64_t not_ascii = 0x8080'8080'8080'8080;
    std::uint64_t eight = 0;
    while (static_cast<std::size_t>(end - at) >= sizeof eight) {
      std::memcpy(&eight, at, sizeof eight);
      if ((eight & not_ascii) != 0) break;
      at += sizeof eight;
    }
    if (at == end) break;
    const auto lead = static_cast<unsigned char>(*at++);
    if (lead < 0x80) continue;
    // The table of RFC 3629, section 4: only the byte after the lead has a range of its own.
    if (lead < 0xc2 || lead > 0xf4) return false;
    const std::ptrdiff_t more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (end - at < more) return false;
    const unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    const auto second = static_cast<unsigned char>(*at);
    if (second < least || second > most) return false;
    for (std::ptrdiff_t i = 1; i < more; ++i) {
      if ((static_cast<unsigned char>(at[i]) & 0xc0) != 0x80) return false;
    }
    at += more;
  }
  return true;
}

std::string_view beginning_of(std::string_view text, std::size_t bytes_max) noexcept {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xc0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

}  // namespace troupe::lua::detail
