// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/figures.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <utility>

namespace troupe::lab {

std::string print_figures(const std::vector<figure>& all) {
  std::string text;
  for (const figure& each : all) {
    std::array<char, 32> value;
    std::snprintf(value.data(), value.size(), "%.17g", each.value);
    text += each.metric + ' ' + each.unit + ' ' + value.data() + '\n';
  }
  return text;
}

std::optional<std::vector<figure>> read_figures(const std::string& text) {
  std::vector<figure> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    figure next;
    std::string rest;
    if (!(words >> next.metric >> next.unit >> next.value) || words >> rest) return std::nullopt;
    if (!std::isfinite(next.value)) return std::nullopt;
    found.push_back(std::move(next));
  }
  if (found.empty()) return std::nullopt;
  return found;
}

}  // namespace troupe::lab
