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

// The index of "Sun" or "Nov" in names, or nothing if the text is not one of them.
template <std::size_t N>
std::optional<unsigned> place(const std::array<const char*, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<unsigned>(found - names.begin());
}

// `time` is "08:49:37". The day of the week is not checked against the date.
std::optional<date> put_together(std::string_view weekday, std::optional<unsigned> of_year,
                                 std::string_view month_name, std::string_view day_text,
                                 std::string_view time) {
  using namespace std::chrono;
  if (time.size() != 8 || time[2] != ':' || time[5] != ':') return std::nullopt;
  const auto month_number = place(months, month_name);
  const auto day_number = number(day_text);
  const auto hour = number(time.substr(0, 2));
  const auto minute = number(time.substr(3, 2));
  const auto second = number(time.substr(6, 2));
  if (!place(weekdays, weekday) || !of_year || !month_number || !day_number || !hour || !minute ||
      !second) {
    return std::nullopt;
  }
  const year_month_day d{year{static_cast<int>(*of_year)}, month{*month_number + 1},
                         day{*day_number}};
  if (!d.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return sys_days{d} + hours{*hour} + minutes{*minute} + seconds{*second};
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
//  0    5  8   12   17       25
std::optional<date> as_usual(std::string_view text) {
  if (text.size() != 29 || text.substr(3, 2) != ", " || text[7] != ' ' || text[11] != ' ' ||
      text[16] != ' ' || text.substr(25) != " GMT") {
    return std::nullopt;
  }
  return put_together(text.substr(0, 3), number(text.substr(12, 4)), text.substr(8, 3),
                      text.substr(5, 2), text.substr(17, 8));
}

// "Sunday, 06-Nov-94 08:49:37 GMT", by RFC 850: from the comma on
//        0 2  5   9  12       20
std::optional<date> as_rfc850(std::string_view text, date now) {
  using namespace std::chrono;
  constexpr std::array<const char*, 7> names{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                             "Thursday", "Friday", "Saturday"};
  const std::size_t comma = std::min(text.find(','), text.size());
  const auto weekday_number = place(names, text.substr(0, comma));
  text.remove_prefix(comma);
  if (!weekday_number || text.size() != 24 || text[1] != ' ' || text[4] != '-' || text[8] != '-' ||
      text[11] != ' ' || text.substr(20) != " GMT") {
    return std::nullopt;
  }
  auto of_year = number(text.substr(9, 2));
  if (of_year) {
    const auto present = static_cast<unsigned>(int{year_month_day{floor<days>(now)}.year()});
    *of_year += present - present % 100;
    if (*of_year > present + 50) *of_year -= 100;
  }
  return put_together(weekdays[*weekday_number], of_year, text.substr(5, 3), text.substr(2, 2),
                      text.substr(12, 8));
}

// "Sun Nov  6 08:49:37 1994", by C's asctime()
//  0   4   8  11       20
std::optional<date> as_asctime(std::string_view text) {
  if (text.size() != 24 || text[3] != ' ' || text[7] != ' ' || text[10] != ' ' || text[19] != ' ') {
    return std::nullopt;
  }
  const std::string_view day_text = text.substr(text[8] == ' ' ? 9 : 8, text[8] == ' ' ? 1 : 2);
  return put_together(text.substr(0, 3), number(text.substr(20)), text.substr(4, 3), day_text,
                      text.substr(11, 8));
}

}  // namespace

std::string to_http_date(date when) {
  using namespace std::chrono;
  // The year has four digits. The time of a file may be in any year.
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

std::optional<date> parse_http_date(std::string_view text, date now) {
  if (const auto found = as_usual(text)) return found;
  if (const auto found = as_rfc850(text, now)) return found;
  return as_asctime(text);
}

}  // namespace troupe::http::detail
