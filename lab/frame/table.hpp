// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace troupe::lab {

/// Rows of cells. The first columns are names and are left-aligned; the others are right-aligned.
struct table {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::size_t names = 1;  ///< number of columns that are names
};

/// Separates the columns by spaces.
void print_text(std::ostream& out, const table& what);

/// Prints a Markdown table.
void print_markdown(std::ostream& out, const table& what);

}  // namespace troupe::lab
