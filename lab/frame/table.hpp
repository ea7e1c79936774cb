// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace troupe::lab {

/// Rows of cells. The first columns are names and stand to the left, the others to the right.
struct table {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::size_t names = 1;  ///< how many columns are names
};

/// With spaces between the columns.
void print_text(std::ostream& out, const table& what);

/// As a table of Markdown.
void print_markdown(std::ostream& out, const table& what);

}  // namespace troupe::lab
