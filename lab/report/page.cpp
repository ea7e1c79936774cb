// SPDX-License-Identifier: Apache-2.0
#include "lab/report/page.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "lab/report/data.hpp"
#include "lab/report/parts.hpp"
#include "lab/report/source.hpp"

namespace troupe::lab {

namespace {

// Writes JSON for a <script> element: without "<" nothing in it can end the element. JSON has "<"
// only in strings.
std::string for_script(const nlohmann::ordered_json& data) {
  std::string result;
  for (const char c : data.dump()) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

void write(std::ostream& to, const std::string& page, const std::string& name) {
  if (to << page && to.flush()) return;
  throw std::runtime_error(name + " cannot be written: " + std::strerror(errno) +
                           "; choose another file with --html");
}

}  // namespace

std::string page_of(const nlohmann::ordered_json& data) {
  const std::pair<std::string_view, std::string> parts[] = {
      {"style", report::style},   {"licenses", report::licenses}, {"library", report::library},
      {"script", report::script}, {"data", for_script(data)},
  };
  std::string page;
  // Inserted text is not searched again.
  std::string_view rest = report::frame;
  while (true) {
    const std::size_t from = rest.find("{{");
    page += rest.substr(0, from);
    if (from == std::string_view::npos) return page;
    const std::size_t to = rest.find("}}", from);
    const std::string_view name = rest.substr(from + 2, to - from - 2);
    page += std::find_if(std::begin(parts), std::end(parts), [&](const auto& part) {
              return part.first == name;
            })->second;
    rest.remove_prefix(to + 2);
  }
}

int write_report(const std::vector<std::string>& files, const std::string& html) {
  std::vector<source> sources;
  for (const std::string& file : files) sources.push_back(read_source(file));
  const std::string page = page_of(page_data(sources));
  if (html == "-") {
    errno = 0;
    write(std::cout, page, "stdout");
    return 0;
  }
  errno = 0;
  std::ofstream out(html, std::ios::binary);
  write(out, page, html);
  return 0;
}

bool is_one_of(const std::string& file, const std::vector<std::string>& files) {
  return std::any_of(files.begin(), files.end(), [&](const std::string& other) {
    std::error_code none;
    return std::filesystem::equivalent(file, other, none);
  });
}

}  // namespace troupe::lab
