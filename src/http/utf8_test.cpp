// SPDX-License-Identifier: Apache-2.0

#include "utf8.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::http::detail {
namespace {

std::string encoded(std::uint32_t point, int bytes) {
  if (bytes == 1) return {static_cast<char>(point)};
  std::string all;
  for (int i = bytes - 1; i > 0; --i, point >>= 6) {
    all.insert(all.begin(), static_cast<char>(0x80 | (point & 0x3f)));
  }
  constexpr unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  all.insert(all.begin(), static_cast<char>(lead[bytes] | point));
  return all;
}

/// Checks the text as a whole, and in two pieces, cut anywhere. The results must agree.
bool is_valid(const std::string& text) {
  const bool whole = is_utf8(text);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    utf8_checker c;
    const bool split = c.go_on(std::string_view{text}.substr(0, cut)) &&
                       c.go_on(std::string_view{text}.substr(cut)) && c.is_whole();
    EXPECT_EQ(split, whole) << text << " cut at " << cut;
  }
  return whole;
}

TEST(utf8, every_code_point_in_its_shortest_form_is_valid_unless_it_is_a_surrogate) {
  for (std::uint32_t point = 0; point <= 0x10'ffff; ++point) {
    const int bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x1'0000 ? 3 : 4;
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    ASSERT_EQ(is_utf8(encoded(point, bytes)), !surrogate) << std::hex << point;
  }
}

TEST(utf8, overlong_forms_are_not_valid) {
  for (std::uint32_t point = 0; point < 0x80; ++point) EXPECT_FALSE(is_valid(encoded(point, 2)));
  for (std::uint32_t point = 0; point < 0x800; ++point) EXPECT_FALSE(is_utf8(encoded(point, 3)));
  for (std::uint32_t point = 0; point < 0x1'0000; ++point) {
    EXPECT_FALSE(is_utf8(encoded(point, 4)));
  }
}

TEST(utf8, code_points_beyond_10ffff_are_invalid) {
  EXPECT_TRUE(is_valid("\xf4\x8f\xbf\xbf"));
  EXPECT_FALSE(is_valid("\xf4\x90\x80\x80"));
  for (int lead = 0xf5; lead <= 0xff; ++lead) {
    EXPECT_FALSE(is_valid(static_cast<char>(lead) + std::string("\x80\x80\x80")));
  }
}

TEST(utf8, a_character_that_lacks_bytes_is_not_whole) {
  for (const std::string& whole : {encoded(0xe4, 2), encoded(0x20ac, 3), encoded(0x1'f600, 4)}) {
    for (std::size_t size = 1; size < whole.size(); ++size) {
      utf8_checker c;
      EXPECT_TRUE(c.go_on(whole.substr(0, size)));
      EXPECT_FALSE(c.is_whole());
      EXPECT_FALSE(is_valid("twelve bytes" + whole.substr(0, size)));
      EXPECT_FALSE(is_valid(whole.substr(0, size) + "x"));
      EXPECT_FALSE(is_valid(whole.substr(0, size) + whole));
    }
    EXPECT_FALSE(is_valid(whole.substr(1)));
    EXPECT_TRUE(is_valid(whole + whole + "and much more text behind it" + whole));
  }
}

TEST(utf8, detects_an_error_at_the_first_invalid_byte) {
  for (const std::string_view bad : {"\x80", "\xc0", "\xc1", "\xe0\x80", "\xed\xa0", "\xf0\x8f",
                                     "\xf4\x90", "\xf5", "\xff", "\xc3\x28", "\xe2\x82\x28"}) {
    utf8_checker c;
    EXPECT_TRUE(c.go_on(bad.substr(0, bad.size() - 1))) << bad;
    EXPECT_FALSE(c.go_on(bad.substr(bad.size() - 1))) << bad;
  }
}

}  // namespace
}  // namespace troupe::http::detail
