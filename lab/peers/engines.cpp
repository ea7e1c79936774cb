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

// What comes from elsewhere is built there, so that nobody takes it for what belongs to this program.
path made_folder(const engine_folders& where, const char* name) {
  const bool is_ours = where.sources == built::engines;
  path folder = (is_ours ? path(where.cache) : path(where.sources) / "build") / name;
  std::filesystem::create_directories(folder);
  return folder;
}

// The word of that number, of the first line.
std::string word(const std::string& text, unsigned number) {
  std::istringstream words(text);
  std::string found;
  for (unsigned i = 0; i <= number && words >> found; ++i) continue;
  return words ? found : "?";
}

std::vector<std::string> joined(std::vector<std::string> some,
                                const std::vector<std::string>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

std::string in_one_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& each : words) line += (line.empty() ? "" : " ") + each;
  return line;
}

// ── Each engine ─────────────────────────────────────────────────────────────────────────────

prepared_engine prepare_floor(const engine_folders&) {
  if (::access(built::floor, X_OK) != 0)
    throw left_out{std::string(built::floor) + " is not built"};
  return {.command = {built::floor},
          .version = "a sketch",
          .settings = "no references, failures, limits, counters or timers"};
}

prepared_engine prepare_go(const engine_folders& where) {
  const path source = path(where.sources) / "go";
  const path program = made_folder(where, "go") / "workloads";
  run_tool({"go", "build", "-o", program, "."}, source);
  std::string version = run_tool({"go", "env", "GOVERSION"}, source);
  if (version.starts_with("go")) version.erase(0, 2);
  return {.command = {program},
          .version = "Go " + version,
          .settings =
              "GOMAXPROCS {workers}; a channel has room for what can wait in it; ask without a "
              "time-out"};
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
  const std::string rust = word(run_tool({"rustc", "--version"}, source), 1);
  return {
      .command = {folder / "release" / "workloads"},
      .version = "tokio " + locked_version(contents(source / "Cargo.lock"), "tokio") + " (Rust " +
                 rust + ")",
      .settings =
          "release, LTO; {workers} threads, neither I/O nor time driver; unbounded channels; the "
          "wall and the consumer take up to 256 at once; ask (oneshot) without a time-out"};
}

// An engine whose folder has a CMakeLists.txt: it makes the program `workloads` and writes `version`.
prepared_engine prepare_with_cmake(const engine_folders& where, const char* name,
                                   std::string settings) {
  const path folder = made_folder(where, name);
  run_tool({"cmake", "-S", path(where.sources) / name, "-B", folder}, where.sources);
  run_tool({"cmake", "--build", folder, "--target", "workloads"}, where.sources);
  return {.command = {folder / "workloads"},
          .version = trimmed(contents(folder / "version")),
          .settings = std::move(settings)};
}

// The program is written for 0.17, and CMakeLists.txt takes no other.
prepared_engine prepare_caf(const engine_folders& where) {
  prepared_engine ready = prepare_with_cmake(
      where, "caf", "work stealing, in wall and spawn work sharing; ask with a time-out");
  ready.newer = "1.1";
  return ready;
}

prepared_engine prepare_sobjectizer(const engine_folders& where) {
  return prepare_with_cmake(
      where, "sobjectizer",
      "thread_pool, with one worker one_thread; fanin with a limit goes through a message chain");
}

prepared_engine prepare_acto(const engine_folders& where) {
  return prepare_with_cmake(where, "acto", "chooses the number of threads itself");
}

prepared_engine prepare_erlang(const engine_folders& where) {
  const path folder = made_folder(where, "erlang");
  run_tool({"erlc", "-o", folder, path(where.sources) / "erlang" / "workloads.erl"}, where.sources);
  const std::string version =
      run_tool({"erl", "-noinput", "-pa", folder, "-s", "workloads", "version"}, where.sources);
  // As many schedulers as workers, and room for more processes than there are actors.
  const std::vector<std::string> start = {"erl", "+S", "{workers}:{workers}", "+P", "2000000"};
  return {.command = joined(start, {"-env", "ERL_CRASH_DUMP_BYTES", "0", "-noinput", "-pa", folder,
                                    "-s", "workloads", "main", "-extra"}),
          .version = "Erlang/OTP " + word(version, 0) + " (erts " + word(version, 1) + ", " +
                     word(version, 2) + ")",
          .settings = in_one_line(start) +
                      "; the wall, the consumer and the collector have message_queue_data "
                      "off_heap; ask is gen_server:call, with a time-out",
          .newer = std::atoi(version.c_str()) < 28 ? "28" : ""};
}

// What stands in <name>…</name>, the first time.
std::string element(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("<" + name + ">");
  if (at == std::string::npos) return "?";
  const std::size_t from = at + name.size() + 2;
  return text.substr(from, text.find('<', from) - from);
}

prepared_engine prepare_pekko(const engine_folders& where) {
  const path source = path(where.sources) / "pekko";
  const path folder = made_folder(where, "pekko");
  if (!is_installed("javac")) throw left_out{"javac is not installed"};
  run_tool({"mvn", "-q", "-B", "-Dstyle.color=never", "compile", "-Dfolder=" + folder.string()},
           source);
  const std::string java = word(run_tool({"java", "--version"}, source), 1);
  const std::string needed = trimmed(contents(folder / "classpath"));
  const std::vector<std::string> start = {"java", "-XX:+UseParallelGC"};
  return {
      .command = joined(start, {"-cp", (folder / "classes").string() + ":" + needed, "Workloads"}),
      .version = "Pekko " + element(contents(source / "pom.xml"), "pekko.version") + " (Java " +
                 java + ")",
      .settings =
          in_one_line(start) +
          "; classic actors, a fork-join dispatcher of {workers}, "
          "SingleConsumerOnlyUnboundedMailbox; ask with a time-out; all but idle run for 3 s "
          "before they are measured, which their peak memory includes; idle after a collection"};
}

}  // namespace

bool engine::has(std::string_view workload, std::string_view variant) const {
  return std::find(lacks.begin(), lacks.end(), std::pair{workload, variant}) == lacks.end();
}

std::string with_workers(std::string text, std::uint64_t workers) {
  for (std::size_t at; (at = text.find(workers_here)) != std::string::npos;) {
    text.replace(at, workers_here.size(), std::to_string(workers));
  }
  return text;
}

const std::vector<engine>& other_engines() {
  static const std::vector<engine> all = {
      {"floor", prepare_floor, {{"fanin", "bounded 1024"}, {"ask", ""}}},
      {"caf", prepare_caf, {{"fanin", "bounded 1024"}}},
      {"go", prepare_go, {{"fanin", "unbounded"}}},
      {"tokio", prepare_tokio},
      {"sobjectizer", prepare_sobjectizer, {{"ask", ""}}},
      {"acto", prepare_acto, {{"fanin", "bounded 1024"}, {"ask", ""}}},
      {"erlang", prepare_erlang, {{"fanin", "bounded 1024"}}},
      {"pekko", prepare_pekko, {{"fanin", "bounded 1024"}}},
  };
  return all;
}

}  // namespace troupe::lab
