// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/human.hpp"

#include <cmath>
#include <cstdio>

namespace troupe::lab {

namespace {

std::string three_digits(double value) {
  const double size = std::fabs(value);
  const int digits = value == std::floor(value) || size >= 99.95 ? 0
                     : size >= 9.995                             ? 1
                     : size >= 0.9995                            ? 2
                                                                 : 3;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace

std::string human(double value, const std::string& unit) {
  const char* suffix = unit == "bytes" ? " B" : "";
  const char* const bytes[] = {" kB", " MB", " GB"};
  const char* const counts[] = {" k", " M", " G"};
  int thousands = 0;
  // A few thousand bytes, switches or nanoseconds are easier to read without a prefix.
  if (std::fabs(value) >= 10'000) {
    while (std::fabs(value) >= 999.5 && thousands < 3) {
      value /= 1000;
      ++thousands;
    }
  }
  if (thousands > 0) suffix = (unit == "bytes" ? bytes : counts)[thousands - 1];
  return three_digits(value) + suffix;
}

}  // namespace troupe::lab
