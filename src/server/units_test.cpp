// SPDX-License-Identifier: Apache-2.0
#include "units.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace {

using namespace std::chrono_literals;
using troupe::server::detail::duration_text;
using troupe::server::detail::parse_duration;
using troupe::server::detail::parse_size;
using troupe::server::detail::size_text;

TEST(units, a_size_is_a_number_and_a_unit) {
  EXPECT_EQ(parse_size("0 B"), 0u);
  EXPECT_EQ(parse_size("7B"), 7u);
  EXPECT_EQ(parse_size("64 KiB"), 65'536u);
  EXPECT_EQ(parse_size("1 MiB"), 1'048'576u);
  EXPECT_EQ(parse_size("3GiB"), 3'221'225'472u);
  EXPECT_EQ(parse_size("1 TiB"), 1'099'511'627'776u);
  for (const char* wrong : {"", "1", "KiB", "1 kib", "1 KB", "1  KiB", "1 KiB ", " 1 KiB", "-1 B",
                            "+1 B", "1.5 KiB", "0x10 B", "99999999999999999999 B", "9000000 TiB"}) {
    EXPECT_EQ(parse_size(wrong), std::nullopt) << wrong;
  }
}

TEST(units, a_duration_is_a_number_and_a_unit) {
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("10 s"), 10s);
  EXPECT_EQ(parse_duration("5m"), 5min);
  EXPECT_EQ(parse_duration("24h"), 24h);
  for (const char* wrong :
       {"", "10", "s", "10 sec", "-1s", "1.5s", "1h30m", "9223372036854775807h"}) {
    EXPECT_EQ(parse_duration(wrong), std::nullopt) << wrong;
  }
}

TEST(units, both_are_shown_as_they_are_read) {
  for (const char* text : {"0 B", "1023 B", "1 KiB", "1025 B", "48 MiB", "1 TiB"}) {
    EXPECT_EQ(size_text(parse_size(text).value()), text);
  }
  for (const char* text : {"0ms", "10ms", "1s", "1001ms", "5m", "24h"}) {
    EXPECT_EQ(duration_text(parse_duration(text).value()), text);
  }
}

}  // namespace
