// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/figures.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

namespace troupe::lab {

namespace {

constexpr std::string_view note_mark = "# ";

}  // namespace

std::string print_figures(const std::vector<figure>& all) {
  std::string text;
  for (const figure& each : all) {
    std::array<char, 32> value;
    std::snprintf(value.data(), value.size(), "%.17g", each.value);
    text += each.metric + ' ' + each.unit + ' ' + value.data() + '\n';
  }
  return text;
}

std::string print_notes(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& note : all) text.append(note_mark).append(note) += '\n';
  return text;
}

std::optional<std::vector<figure>> read_figures(const std::string& text) {
  std::vector<figure> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(note_mark)) continue;
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

std::vector<std::string> read_notes(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(note_mark)) found.push_back(line.substr(note_mark.size()));
  }
  return found;
}

}  // namespace troupe::lab
