// SPDX-License-Identifier: Apache-2.0
#include "lab/peers/engines.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "lab/built.hpp"
#include "lab/peers/building.hpp"

namespace troupe::lab {

namespace {

using path = std::filesystem::path;

// Sources from another folder are built there, so that they are not mistaken for parts of this
// program.
path made_folder(const engine_folders& where, const char* name) {
  const bool is_ours = where.sources == built::engines();
  return folder_for(is_ours ? path(where.cache) : path(where.sources) / "build", name);
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
  const std::string program = built::floor();
  if (::access(program.c_str(), X_OK) != 0) throw left_out{program + " is not built"};
  return {.command = {program},
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

// An engine whose folder has a Cargo.toml, which builds the program `workloads`.
prepared_engine prepare_with_cargo(const engine_folders& where, const char* name,
                                   std::string settings) {
  const path source = path(where.sources) / name;
  const path folder = made_folder(where, name);
  run_tool({"cargo", "build", "--release", "--locked"}, source, {{"CARGO_TARGET_DIR", folder}});
  const std::string rust = word(run_tool({"rustc", "--version"}, source), 1);
  return {.command = {folder / "release" / "workloads"},
          .version = std::string(name) + " " +
                     locked_version(contents(source / "Cargo.lock"), name) + " (Rust " + rust + ")",
          .settings = "release, LTO; " + std::move(settings)};
}

prepared_engine prepare_tokio(const engine_folders& where) {
  return prepare_with_cargo(
      where, "tokio",
      "{workers} threads, neither I/O nor time driver; unbounded channels; the wall and the "
      "consumer take up to 256 at once; ask (oneshot) without a time-out");
}

prepared_engine prepare_kameo(const engine_folders& where) {
  return prepare_with_cargo(where, "kameo",
                            "{workers} threads of tokio, without I/O driver; unbounded mailboxes; "
                            "without the feature tracing; ask with a time-out");
}

prepared_engine prepare_actix(const engine_folders& where) {
  return prepare_with_cargo(
      where, "actix",
      "{workers} arbiters; pairs and sections of the ring share one, and spawned actors stay on "
      "that of the collector; do_send, which ignores limits; ask with a time-out");
}

// An engine whose folder has a CMakeLists.txt, which builds the program `workloads` and writes
// `version`. `built_in` is the folder of the build, with the options for it.
prepared_engine prepare_with_cmake(const engine_folders& where, const char* name,
                                   std::string settings, const char* built_in,
                                   const std::vector<std::string>& options = {}) {
  const path folder = made_folder(where, built_in);
  run_tool(joined({"cmake", "-S", path(where.sources) / name, "-B", folder}, options),
           where.sources);
  run_tool({"cmake", "--build", folder, "--target", "workloads"}, where.sources);
  return {.command = {folder / "workloads"},
          .version = trimmed(contents(folder / "version")),
          .settings = std::move(settings)};
}

constexpr const char* settings_of_caf =
    "work stealing, in wall and spawn work sharing; ask with a time-out";

// Debian's version.
prepared_engine prepare_caf(const engine_folders& where) {
  prepared_engine ready = prepare_with_cmake(where, "caf", settings_of_caf, "caf");
  ready.newer = "1.1";
  return ready;
}

prepared_engine prepare_caf_1(const engine_folders& where) {
  return prepare_with_cmake(where, "caf", settings_of_caf, "caf_1", {"-DCAF_RELEASE=1.1"});
}

// One program has both dispatchers.
prepared_engine prepare_sobjectizer(const engine_folders& where, const char* dispatcher,
                                    std::string threads) {
  prepared_engine ready = prepare_with_cmake(
      where, "sobjectizer",
      "dispatcher " + std::move(threads) +
          "; ask with the reply's mailbox in the request, without a time-out; fanin with a limit "
          "goes through a message chain to the main thread",
      "sobjectizer");
  ready.version += std::string(", ") + dispatcher;
  ready.command.emplace_back(dispatcher);
  return ready;
}

prepared_engine prepare_sobjectizer_pool(const engine_folders& where) {
  return prepare_sobjectizer(where, "thread_pool", "thread_pool of {workers}");
}

prepared_engine prepare_sobjectizer_thread(const engine_folders& where) {
  return prepare_sobjectizer(where, "one_thread", "one_thread: one thread for all agents");
}

prepared_engine prepare_acto(const engine_folders& where) {
  return prepare_with_cmake(where, "acto",
                            "chooses the number of threads itself; ask with a reply to the sender, "
                            "without a time-out",
                            "acto");
}

prepared_engine prepare_erlang(const engine_folders& where) {
  const path folder = made_folder(where, "erlang");
  run_tool({"erlc", "-o", folder, path(where.sources) / "erlang" / "workloads.erl"}, where.sources);
  const std::string version =
      run_tool({"erl", "-noinput", "-pa", folder, "-s", "workloads", "version"}, where.sources);
  // As many schedulers as workers, and space for more processes than there are actors.
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

// Returns the content of the first <name>…</name>.
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
          "SingleConsumerOnlyUnboundedMailbox; ask with a time-out; idle is measured after a "
          "garbage collection"};
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
      {"caf_1", prepare_caf_1, {{"fanin", "bounded 1024"}}},
      {"go", prepare_go, {{"fanin", "unbounded"}}},
      {"tokio", prepare_tokio},
      {"kameo", prepare_kameo},
      {"actix", prepare_actix, {{"fanin", "bounded 1024"}}},
      {"sobjectizer", prepare_sobjectizer_pool},
      {"sobjectizer_one_thread", prepare_sobjectizer_thread},
      {"acto", prepare_acto, {{"fanin", "bounded 1024"}}},
      {"erlang", prepare_erlang, {{"fanin", "bounded 1024"}}},
      {"pekko", prepare_pekko, {{"fanin", "bounded 1024"}}},
  };
  return all;
}

}  // namespace troupe::lab
