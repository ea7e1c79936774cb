// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::http::detail {

/// Whether a text that comes in pieces is UTF-8 as RFC 3629 has it: nothing overlong, no surrogates,
/// nothing beyond U+10FFFF.
///
/// Threads: a plain value.
/// Cost:    eight bytes of ASCII at once; others one by one.
class utf8_checker {
 public:
  /// False as soon as no continuation could make it valid; then it is of no further use.
  [[nodiscard]] bool go_on(std::string_view piece) noexcept;
  /// What has come so far ends with a character.
  [[nodiscard]] bool is_whole() const noexcept { return missing_ == 0; }

 private:
  // Of the next byte, if any are missing: only the first after the lead has a range of its own.
  std::uint8_t missing_ = 0;
  std::uint8_t least_ = 0x80;
  std::uint8_t most_ = 0xbf;
};

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  utf8_checker all;
  return all.go_on(text) && all.is_whole();
}

}  // namespace troupe::http::detail
