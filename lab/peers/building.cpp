// SPDX-License-Identifier: Apache-2.0
#include "lab/peers/building.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "lab/frame/process.hpp"

namespace troupe::lab {

namespace {

// Returns the first line with the word error, and the next one; for an error of CMake only the
// text.
std::string what_is_wrong(const std::string& printed) {
  std::istringstream all(printed);
  std::vector<std::string> lines;
  for (std::string line; std::getline(all, line);) {
    line = trimmed(line);
    if (!line.empty()) lines.push_back(line);
  }
  const auto says_error = [](std::string line) {
    std::transform(line.begin(), line.end(), line.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return line.find("error") != std::string::npos;
  };
  const auto first = std::find_if(lines.begin(), lines.end(), says_error);
  if (first == lines.end()) return lines.empty() ? "" : lines.front();
  if (first + 1 == lines.end()) return *first;
  return first->starts_with("CMake Error at") ? *(first + 1) : *first + " " + *(first + 1);
}

}  // namespace

std::string run_tool(const std::vector<std::string>& command, const std::filesystem::path& folder,
                     const std::vector<std::pair<std::string, std::string>>& environment) {
  if (!is_installed(command[0])) throw left_out{command[0] + " is not installed"};
  std::vector<std::string> nicely = command;
  if (is_installed("nice")) nicely.insert(nicely.begin(), "nice");
  const process_outcome outcome = run_process(
      nicely, {.limit = std::chrono::minutes(30), .folder = folder, .environment = environment});
  if (!outcome.failure.empty()) {
    const std::string wrong = what_is_wrong(outcome.errors + outcome.output);
    throw left_out{wrong.empty() ? outcome.failure : wrong};
  }
  return trimmed(outcome.output);
}

bool is_installed(const std::string& program) {
  const char* everywhere = std::getenv("PATH");
  std::istringstream folders(everywhere == nullptr ? "" : everywhere);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::filesystem::path folder_for(const std::filesystem::path& within, const std::string& name) {
  std::filesystem::path folder = within / name;
  std::filesystem::create_directories(folder);
  return folder;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") + 1 - from);
}

std::string word(const std::string& text, unsigned number) {
  std::istringstream words(text);
  std::string found;
  for (unsigned i = 0; i <= number && words >> found; ++i) continue;
  return words ? found : "?";
}

std::string locked_version(const std::string& lock, const std::string& package) {
  const std::string head = "name = \"" + package + "\"\nversion = \"";
  const std::size_t at = lock.find(head);
  if (at == std::string::npos) return "?";
  const std::size_t from = at + head.size();
  return lock.substr(from, lock.find('"', from) - from);
}

}  // namespace troupe::lab
