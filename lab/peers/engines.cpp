// SPDX-License-Identifier: Apache-2.0
#include "lab/peers/engines.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "lab/built.hpp"
#include "lab/frame/process.hpp"

namespace troupe::lab {

namespace {

using path = std::filesystem::path;
using environment = std::vector<std::pair<std::string, std::string>>;

bool is_installed(const std::string& program) {
  const char* everywhere = std::getenv("PATH");
  std::istringstream folders(everywhere == nullptr ? "" : everywhere);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string contents(const path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") + 1 - from);
}

// The first line with the word error, and the one after it; of an error of CMake's the text alone.
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

// What the command prints. Throws left_out.
std::string run_tool(const std::vector<std::string>& command, const path& folder,
                     const environment& more = {}) {
  if (!is_installed(command[0])) throw left_out{command[0] + " is not installed"};
  std::vector<std::string> nicely = command;
  if (is_installed("nice")) nicely.insert(nicely.begin(), "nice");
  const process_outcome outcome = run_process(
      nicely, {.limit = std::chrono::minutes(30), .folder = folder, .environment = more});
  if (!outcome.failure.empty()) {
    const std::string wrong = what_is_wrong(outcome.errors + outcome.output);
    throw left_out{wrong.empty() ? outcome.failure : wrong};
  }
  return trimmed(outcome.output);
}

path made_folder(const engine_folders& where, const char* name) {
  path folder = path(where.cache) / name;
  std::filesystem::create_directories(folder);
  return folder;
}

// ── Each engine ─────────────────────────────────────────────────────────────────────────────

prepared_engine prepare_floor(const engine_folders&) {
  if (::access(built::floor, X_OK) != 0)
    throw left_out{std::string(built::floor) + " is not built"};
  return {built::floor, "a sketch"};
}

prepared_engine prepare_go(const engine_folders& where) {
  const path source = path(where.sources) / "go";
  const path program = made_folder(where, "go") / "workloads";
  run_tool({"go", "build", "-o", program, "."}, source);
  std::string version = run_tool({"go", "env", "GOVERSION"}, source);
  if (version.starts_with("go")) version.erase(0, 2);
  return {program, "Go " + version};
}

// The version that Cargo.lock pins.
std::string locked_version(const std::string& lock, const std::string& package) {
  const std::string head = "name = \"" + package + "\"\nversion = \"";
  const std::size_t at = lock.find(head);
  if (at == std::string::npos) return "?";
  const std::size_t from = at + head.size();
  return lock.substr(from, lock.find('"', from) - from);
}

prepared_engine prepare_tokio(const engine_folders& where) {
  const path source = path(where.sources) / "tokio";
  const path folder = made_folder(where, "tokio");
  run_tool({"cargo", "build", "--release", "--locked"}, source, {{"CARGO_TARGET_DIR", folder}});
  std::istringstream rust(run_tool({"rustc", "--version"}, source));
  std::string word, number;
  rust >> word >> number;
  return {folder / "release" / "workloads",
          "tokio " + locked_version(contents(source / "Cargo.lock"), "tokio") + " (Rust " + number +
              ")"};
}

// An engine whose folder has a CMakeLists.txt: it makes the program `workloads` and writes `version`.
template <const char* const& Name>
prepared_engine prepare_with_cmake(const engine_folders& where) {
  const path folder = made_folder(where, Name);
  run_tool({"cmake", "-S", path(where.sources) / Name, "-B", folder}, where.sources);
  run_tool({"cmake", "--build", folder, "--target", "workloads"}, where.sources);
  return {folder / "workloads", trimmed(contents(folder / "version"))};
}

constexpr const char* caf = "caf";
constexpr const char* sobjectizer = "sobjectizer";
constexpr const char* acto = "acto";

}  // namespace

bool engine::has(std::string_view workload, std::string_view variant) const {
  return std::find(lacks.begin(), lacks.end(), std::pair{workload, variant}) == lacks.end();
}

const std::vector<engine>& other_engines() {
  static const std::vector<engine> all = {
      {"floor", prepare_floor, {{"fanin", "bounded 1024"}, {"ask", ""}}},
      {"caf", prepare_with_cmake<caf>, {{"fanin", "bounded 1024"}}},
      {"go", prepare_go, {{"fanin", "unbounded"}}},
      {"tokio", prepare_tokio},
      {"sobjectizer", prepare_with_cmake<sobjectizer>, {{"ask", ""}}},
      {"acto", prepare_with_cmake<acto>, {{"fanin", "bounded 1024"}, {"ask", ""}}},
  };
  return all;
}

}  // namespace troupe::lab
