// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <cctype>
#include <cstdio>
#include <fstream>

namespace troupe::model {

std::string to_string(source_line at) {
  const std::string_view path = at.file;
  const std::size_t slash = path.rfind('/');
  if (path.empty()) return "its start";
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1)) + ":" +
         std::to_string(at.line);
}

// The last word before an initialiser or the end of the declaration.
std::string name_at(source_line at) {
  std::ifstream source(at.file);
  std::string text;
  for (std::uint32_t line = 0; line < at.line; ++line) {
    if (!std::getline(source, text)) return to_string(at);
  }
  const std::size_t end =
      text.find_first_of("{=;([", text.find('>') == std::string::npos ? 0 : text.rfind('>'));
  if (end == std::string::npos || end == 0) return to_string(at);
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::size_t last = end;
  while (last > 0 && !is_word(text[last - 1])) --last;
  std::size_t first = last;
  while (first > 0 && is_word(text[first - 1])) --first;
  return first == last ? to_string(at) : text.substr(first, last - first);
}

std::string order_name(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return ", relaxed";
    case std::memory_order_consume:
      return ", consume";
    case std::memory_order_acquire:
      return ", acquire";
    case std::memory_order_release:
      return ", release";
    case std::memory_order_acq_rel:
      return ", acq_rel";
    case std::memory_order_seq_cst:
      return ", seq_cst";
  }
  return {};
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string trace_line(std::uint32_t step, std::size_t column, std::string_view thread,
                       source_line where, std::string_view what) {
  const std::string at = where.line == 0 ? std::string() : to_string(where);
  char head[96];
  std::snprintf(head, sizeof head, "%5u  %-24s ", step, at.c_str());
  std::string line = head;
  line.append(column * 4, ' ');
  line += "[";
  line += thread;
  line += "] ";
  line += what;
  line += "\n";
  return line;
}

}  // namespace troupe::model
