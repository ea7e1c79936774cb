// SPDX-License-Identifier: Apache-2.0
#include "short_name.hpp"

#include <cctype>
#include <cstddef>

namespace troupe::detail {

namespace {

bool is_of_identifier(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The position of the bracket that matches the one at the end; text.size() if there is no such
// bracket.
std::size_t opening(std::string_view text) noexcept {
  int open = 0;
  for (std::size_t i = text.size(); i-- != 0;) {
    const char c = text[i];
    if (c == '>' || c == ')' || c == '}') ++open;
    if (c == '<' || c == '(' || c == '{') --open;
    if (open == 0) return i;
  }
  return text.size();
}

// Removes the scope in front of a `::`: an identifier with its template arguments.
void drop_scope(std::string& text) noexcept {
  while (!text.empty() && std::string_view(">)}").find(text.back()) != std::string_view::npos) {
    const std::size_t begin = opening(text);
    if (begin == text.size()) return;
    text.resize(begin);
  }
  while (!text.empty() && is_of_identifier(text.back())) text.pop_back();
}

}  // namespace

std::string short_name(std::string_view full) {
  std::string text;
  text.reserve(full.size());
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (full.substr(i, 2) == "::") {
      drop_scope(text);
      ++i;
    } else {
      text += full[i];
    }
  }
  return text;
}

}  // namespace troupe::detail
