// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::http::detail {

/// Checks whether text that comes in pieces is UTF-8 as RFC 3629 defines it: no overlong forms, no
/// surrogates, nothing beyond U+10FFFF.
///
/// Threads: a plain value.
/// Cost:    eight bytes of ASCII at once; other bytes one by one.
class utf8_checker {
 public:
  /// Returns false as soon as no continuation could make the text valid. Do not call it again after
  /// that.
  [[nodiscard]] bool go_on(std::string_view piece) noexcept;
  /// The text so far ends with a complete character.
  [[nodiscard]] bool is_whole() const noexcept { return missing_ == 0; }

 private:
  // The range of the next byte, if any are missing. Only the first byte after the lead has a range
  // of its own.
  std::uint8_t missing_ = 0;
  std::uint8_t least_ = 0x80;
  std::uint8_t most_ = 0xbf;
};

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  utf8_checker all;
  return all.go_on(text) && all.is_whole();
}

}  // namespace troupe::http::detail
