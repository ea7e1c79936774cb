// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace troupe::model {
namespace {

// The instruction before the return address.
std::string name_of_instruction(const void* returns_to) {
  return "code " + hexadecimal(reinterpret_cast<std::uintptr_t>(returns_to) - 1);
}

}  // namespace

std::string to_string(source_line at) {
  if (at.instruction() != nullptr) return name_of_instruction(at.instruction());
  const std::string_view path = at.file;
  const std::size_t slash = path.rfind('/');
  if (path.empty()) return "its start";
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1)) + ":" +
         std::to_string(at.line);
}

namespace {

// The program records a source's path relative to the root, below which the program lies itself.
std::ifstream open_source(std::string_view file) {
  std::ifstream source{std::string(file)};
  while (file.starts_with("../")) file.remove_prefix(3);
  std::error_code unknown;
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", unknown);
  while (!source.is_open() && folder.has_relative_path()) {
    folder = folder.parent_path();
    source.open(folder / file);
  }
  return source;
}

std::string line_at(source_line at) {
  if (at.instruction() != nullptr) return {};
  std::ifstream source = open_source(at.file);
  std::string text;
  for (std::uint32_t line = 0; line < at.line; ++line) {
    if (!std::getline(source, text)) return {};
  }
  return text;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string word_before(const std::string& text, std::size_t end) {
  std::size_t first = end;
  while (first > 0 && is_word(text[first - 1])) --first;
  return text.substr(first, end - first);
}

}  // namespace

// The last word before an initialiser or the end of the declaration.
std::string name_at(source_line at) {
  const std::string text = line_at(at);
  const std::size_t type_ends = text.rfind('>');
  const std::size_t end =
      text.find_first_of("{=;([", type_ends == std::string::npos ? 0 : type_ends);
  if (end == std::string::npos) return to_string(at);
  std::size_t last = end;
  while (last > 0 && !is_word(text[last - 1])) --last;
  const std::string word = word_before(text, last);
  return word.empty() ? to_string(at) : word;
}

std::string name_in_use(source_line at) {
  const std::string text = line_at(at);
  for (const char* call :
       {".load(", ".store(", ".exchange(", ".compare_exchange_", ".fetch_", "->load(", "->store(",
        "->exchange(", "->compare_exchange_", "->fetch_"}) {
    std::size_t end = text.find(call);
    if (end == std::string::npos) continue;
    std::string index;
    if (end > 0 && text[end - 1] == ']') {
      const std::size_t open = text.rfind('[', end);
      if (open == std::string::npos) continue;
      index = text.substr(open, end - open);
      end = open;
    }
    const std::string word = word_before(text, end);
    if (!word.empty()) return word + index;
  }
  return {};
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
