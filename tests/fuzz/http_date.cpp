// SPDX-License-Identifier: Apache-2.0

// Dates of HTTP: those in headers, and those of files, which are written into headers.

#include "http/date.hpp"

#include <charconv>

#include "fuzz.hpp"

namespace {

using namespace troupe::fuzz;
using troupe::http::detail::date;
using troupe::http::detail::parse_http_date;
using troupe::http::detail::to_http_date;

constexpr std::size_t size_of_date = std::string_view{"Sun, 06 Nov 1994 08:49:37 GMT"}.size();

void check_reading(std::string_view text) {
  const auto when = parse_http_date(text);
  if (!when) return;
  require(std::string_view{"Sun Mon Tue Wed Thu Fri Sat"}.find(text.substr(0, 3)) % 4 == 0,
          "a date begins with a day of the week");
  if (text.find(":60") != text.npos) return;  // a leap second is written as the second after it
  const std::string again = to_http_date(*when);
  require(parse_http_date(again) == when, "what is written is read again");
  if (text.size() != size_of_date || text[3] != ',') return;  // one of the obsolete formats
  require(again.substr(3) == text.substr(3),
          "but for the day of the week there is one way to write it");
}

void check_writing(std::string_view number) {
  std::int64_t seconds = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), seconds).ec != std::errc{}) {
    return;
  }
  const date when{std::chrono::seconds{seconds}};
  const std::string text = to_http_date(when);
  require(text.ends_with(" GMT"), "every date has a text");
  constexpr std::int64_t year_0 = -62'167'219'200, year_10000 = 253'402'300'800;
  if (seconds < year_0 || seconds >= year_10000) return;
  require(text.size() == size_of_date, "a date of four digits has this length");
  require(parse_http_date(text) == when, "what is written is read again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  check_reading(text);
  check_writing(text);
  return 0;
}
