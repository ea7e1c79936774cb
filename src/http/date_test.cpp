// SPDX-License-Identifier: Apache-2.0

#include "date.hpp"

#include <gtest/gtest.h>

namespace troupe::http::detail {
namespace {

TEST(http_date, is_written_as_the_standard_shows_it) {
  EXPECT_EQ(to_http_date(date{std::chrono::seconds{784111777}}), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(to_http_date(date{}), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(http_date, is_read_as_it_is_written) {
  for (const long long at : {0LL, 784111777LL, 951782400LL, 4102444799LL}) {
    const date when{std::chrono::seconds{at}};
    EXPECT_EQ(parse_http_date(to_http_date(when)), when);
  }
}

TEST(http_date, is_read_in_its_obsolete_forms_too) {
  const date when{std::chrono::seconds{784111777}};
  EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), when);
  EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994"), when);
  EXPECT_EQ(parse_http_date("Wed Nov 16 08:49:37 1994"), when + std::chrono::days{10});
}

TEST(http_date, a_year_of_two_digits_is_not_far_ahead) {
  using namespace std::chrono;
  const date in_2026 = sys_days{year{2026} / November / 24};
  const auto year_of = [&](const char* text) {
    return int{year_month_day{floor<days>(*parse_http_date(text, in_2026))}.year()};
  };
  EXPECT_EQ(year_of("Tuesday, 24-Nov-26 00:00:00 GMT"), 2026);
  EXPECT_EQ(year_of("Tuesday, 24-Nov-76 00:00:00 GMT"), 2076);
  EXPECT_EQ(year_of("Tuesday, 24-Nov-77 00:00:00 GMT"), 1977);
  EXPECT_EQ(year_of("Tuesday, 24-Nov-00 00:00:00 GMT"), 2000);
}

TEST(http_date, is_written_in_four_digits_of_the_year) {
  using std::chrono::seconds;
  EXPECT_EQ(to_http_date(date{seconds{253402300799}}), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(to_http_date(date{seconds{253402300800}}), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(to_http_date(date{seconds::max()}), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(to_http_date(date{seconds::min()}), "Sat, 01 Jan 0000 00:00:00 GMT");
}

TEST(http_date, other_formats_are_refused) {
  EXPECT_FALSE(parse_http_date(""));
  EXPECT_FALSE(parse_http_date("Sun, 06-Nov-94 08:49:37 GMT"));
  EXPECT_FALSE(parse_http_date("Sunday, 06-Nov-1994 08:49:37 GMT"));
  EXPECT_FALSE(parse_http_date("Sunday, 06-Nov-94 08:49:37 CET"));
  EXPECT_FALSE(parse_http_date("Sun Nov  6 08:49:37 GMT 1994"));
  EXPECT_FALSE(parse_http_date("Sun Nov 36 08:49:37 1994"));
  EXPECT_FALSE(parse_http_date("Sun, 31 Feb 1994 08:49:37 GMT"));
  EXPECT_FALSE(parse_http_date("Sun, 06 Nov 1994 24:49:37 GMT"));
  EXPECT_FALSE(parse_http_date("Sun, 06 Nov 1994 08:49:37 CET"));
  EXPECT_FALSE(parse_http_date("???, 06 Nov 1994 08:49:37 GMT"));
  EXPECT_FALSE(parse_http_date("Sun, 0x Nov 1994 08:49:37 GMT"));
}

}  // namespace
}  // namespace troupe::http::detail
