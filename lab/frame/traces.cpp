// SPDX-License-Identifier: Apache-2.0
#include "lab/frame/traces.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace troupe::lab {

namespace {

std::string table_of(const std::string& file) { return file + ".txt"; }

}  // namespace

std::string traced_name(const std::string& file, const std::string& variant) {
  const std::filesystem::path path(file);
  std::string name = variant.empty() ? "" : "-";
  for (const char c : variant) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += c;
    } else if (name.back() != '-') {
      name += '-';
    }
  }
  name = path.stem().string() + name + path.extension().string();
  return (path.parent_path() / name).string();
}

std::vector<std::string> record_traces(std::vector<subject>& subjects, const std::string& file) {
  std::vector<std::string> files;
  const auto all = std::count_if(subjects.begin(), subjects.end(),
                                 [](const subject& s) { return s.has_timeline; });
  for (subject& each : subjects) {
    if (!each.has_timeline) continue;
    files.push_back(all == 1 ? file : traced_name(file, each.variant));
    each.environment.emplace_back("TROUPE_TRACE", files.back());
    std::error_code none;
    std::filesystem::remove(files.back(), none);
    std::filesystem::remove(table_of(files.back()), none);
  }
  return files;
}

void print_hot(std::ostream& out, const std::vector<std::string>& files) {
  for (const std::string& each : files) {
    if (std::ifstream table{table_of(each)}) {
      out << '\n' << each << ", of the last run\n" << table.rdbuf();
    }
  }
}

}  // namespace troupe::lab
