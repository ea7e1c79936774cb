// SPDX-License-Identifier: Apache-2.0

#include "date.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace troupe::http::detail {
namespace {

constexpr std::array<const char*, 7> weekdays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc{} || end != text.end()) return std::nullopt;
  return value;
}

}  // namespace

std::string to_http_date(date when) {
  using namespace std::chrono;
  // There are four digits for the year. A file may be of any.
  constexpr date first = sys_days{year{0} / January / 1};
  constexpr date last = sys_days{year{10'000} / January / 1} - seconds{1};
  when = std::clamp(when, first, last);
  const sys_days day = floor<days>(when);
  const year_month_day d{day};
  const hh_mm_ss time{when - day};
  std::array<char, 64> text;
  const int size = std::snprintf(
      text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
      weekdays[weekday{day}.c_encoding()], unsigned{d.day()}, months[unsigned{d.month()} - 1],
      int{d.year()}, static_cast<int>(time.hours().count()),
      static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

std::optional<date> parse_http_date(std::string_view text) {
  using namespace std::chrono;
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  //  0    5  8   12   17 20 23 26
  if (text.size() != 29 || text.substr(3, 2) != ", " || text[7] != ' ' || text[11] != ' ' ||
      text[16] != ' ' || text[19] != ':' || text[22] != ':' || text.substr(25) != " GMT") {
    return std::nullopt;
  }
  const auto weekday_name = std::find(weekdays.begin(), weekdays.end(), text.substr(0, 3));
  const auto month_name = std::find(months.begin(), months.end(), text.substr(8, 3));
  const auto day_number = number(text.substr(5, 2));
  const auto year_number = number(text.substr(12, 4));
  const auto hour = number(text.substr(17, 2));
  const auto minute = number(text.substr(20, 2));
  const auto second = number(text.substr(23, 2));
  // Whether it was that day of the week is not looked at.
  if (weekday_name == weekdays.end() || month_name == months.end() || !day_number || !year_number ||
      !hour || !minute || !second) {
    return std::nullopt;
  }
  const year_month_day d{year{static_cast<int>(*year_number)},
                         month{static_cast<unsigned>(month_name - months.begin()) + 1},
                         day{*day_number}};
  if (!d.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return sys_days{d} + hours{*hour} + minutes{*minute} + seconds{*second};
}

}  // namespace troupe::http::detail
