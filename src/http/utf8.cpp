// SPDX-License-Identifier: Apache-2.0

#include "utf8.hpp"

#include <cstddef>
#include <cstring>

namespace troupe::http::detail {

bool utf8_checker::go_on(std::string_view piece) noexcept {
  const char* at = piece.data();
  const char* const end = at + piece.size();
  while (at != end) {
    if (missing_ == 0) {
      constexpr std::uint64_t not_ascii = 0x8080'8080'8080'8080;
      std::uint64_t eight;
      while (static_cast<std::size_t>(end - at) >= sizeof eight) {
        std::memcpy(&eight, at, sizeof eight);
        if ((eight & not_ascii) != 0) break;
        at += sizeof eight;
      }
      if (at == end) return true;
    }
    const auto byte = static_cast<std::uint8_t>(*at++);
    if (missing_ > 0) {
      if (byte < least_ || byte > most_) return false;
      --missing_;
      least_ = 0x80;
      most_ = 0xbf;
    } else if (byte >= 0x80) {
      // The table of RFC 3629, section 4.
      if (byte < 0xc2 || byte > 0xf4) return false;
      missing_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      if (byte == 0xe0) least_ = 0xa0;  // below that it is overlong
      if (byte == 0xed) most_ = 0x9f;   // above that are surrogates
      if (byte == 0xf0) least_ = 0x90;
      if (byte == 0xf4) most_ = 0x8f;
    }
  }
  return true;
}

}  // namespace troupe::http::detail
