// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <string_view>

// Common functions of the fuzz targets. See README.md.

/// Defined by each target: runs one input, and checks all required properties.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace troupe::fuzz {

/// Ends the process if the property does not hold. The fuzzer then keeps the input, and a replay
/// fails.
inline void require(bool holds, const char* promise,
                    std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s (%s:%u)\n", promise, where.file_name(),
               static_cast<unsigned>(where.line()));
  std::abort();
}

/// Not copied, so that AddressSanitizer detects reads beyond the end of a view.
inline std::string_view text_of(const std::uint8_t* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

/// Cuts off and returns the text before the next line feed, or all of it without one.
inline std::string_view take_line(std::string_view& from) noexcept {
  const std::string_view line = from.substr(0, from.find('\n'));
  from.remove_prefix(std::min(from.size(), line.size() + 1));
  return line;
}

/// Derives decisions from an input that does not state them: the same input always has the same
/// hash. FNV-1a.
inline std::uint64_t hash_of(std::string_view input) noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char c : input) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  return hash;
}

inline char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
inline char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
inline std::string lower(std::string_view text) {
  std::string all{text};
  for (char& c : all) c = lower(c);
  return all;
}
inline std::string upper(std::string_view text) {
  std::string all{text};
  for (char& c : all) c = upper(c);
  return all;
}

inline bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// As RFC 3629 defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
inline bool is_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t more = byte(i) < 0x80             ? 0
                             : (byte(i) & 0xe0) == 0xc0 ? 1
                             : (byte(i) & 0xf0) == 0xe0 ? 2
                             : (byte(i) & 0xf8) == 0xf0 ? 3
                                                        : 4;
    if (more == 4 || text.size() - i <= more) return false;
    std::uint32_t point = more == 0 ? byte(i) : byte(i) & (0x3fu >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
      point = point << 6 | (byte(i + k) & 0x3fu);
    }
    constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x1'0000};
    if (point < least[more] || point > 0x10'ffff || (point >= 0xd800 && point < 0xe000)) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

}  // namespace troupe::fuzz
