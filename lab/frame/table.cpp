// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/table.hpp"

#include <algorithm>
#include <ostream>

namespace troupe::lab {

namespace {

// Counts characters, not bytes: the continuation bytes of UTF-8 have no width.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

void print_text(std::ostream& out, const table& what) {
  std::vector<std::size_t> widths(what.head.size(), 0);
  const auto widen = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  };
  widen(what.head);
  for (const auto& row : what.rows) widen(row);

  const auto print = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string padding(widths[i] - width(row[i]), ' ');
      line += "  " + (i < what.names ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  };
  print(what.head);
  for (const auto& row : what.rows) print(row);
}

void print_markdown(std::ostream& out, const table& what) {
  const auto print = [&](const std::vector<std::string>& row) {
    out << '|';
    for (const std::string& cell : row) out << ' ' << cell << (cell.empty() ? "|" : " |");
    out << '\n';
  };
  print(what.head);
  out << '|';
  for (std::size_t i = 0; i < what.head.size(); ++i) out << "---|";
  out << '\n';
  for (const auto& row : what.rows) print(row);
}

}  // namespace troupe::lab
