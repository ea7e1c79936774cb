// SPDX-License-Identifier: Apache-2.0
#include "lab/peers/savina.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "lab/built.hpp"
#include "lab/frame/comparable.hpp"
#include "lab/peers/building.hpp"
#include "lab/peers/engines.hpp"

namespace troupe::lab::savina {

namespace {

using path = std::filesystem::path;

path folder_of(std::string_view engine) { return path(built::cache()) / engine; }

// The file without which the program of the engine does not run.
path program_of(std::string_view engine) {
  if (engine == "tokio") return folder_of(engine) / "release" / "savina";
  if (engine == "pekko") return folder_of(engine) / "classes" / "Savina.class";
  return folder_of(engine) / "savina";
}

std::string_view settings_of(std::string_view engine) {
  if (engine == "caf") return "work stealing";
  if (engine == "tokio") return "release, LTO; neither I/O nor time driver; unbounded channels";
  return "java -XX:+UseParallelGC; classic actors, a fork-join dispatcher, "
         "SingleConsumerOnlyUnboundedMailbox; each workload is repeated for warm_up_ms before it "
         "is measured";
}

// Builds the programs for `troupe lab peers` as well. Returns the version.
std::string build(std::string_view engine) {
  const std::vector<lab::engine>& all = other_engines();
  const auto which = std::find_if(all.begin(), all.end(),
                                  [&](const lab::engine& each) { return each.name == engine; });
  const prepared_engine ready = which->prepare({built::engines(), built::cache()});
  if (engine == "caf") {
    if (std::string why = why_peers_are_not_comparable(); !why.empty()) throw left_out{why};
    run_tool({"cmake", "--build", folder_of(engine), "--target", "savina"}, built::engines());
  }
  return ready.version;
}

}  // namespace

presence look_for(std::string_view engine, bool may_build) {
  if (engine == "troupe") return {};
  try {
    const std::string version = may_build ? build(engine) : std::string(engine);
    if (::access(program_of(engine).c_str(), R_OK) != 0) {
      throw left_out{"it is not built; `troupe lab savina` without --smoke builds it"};
    }
    return {.version = version + "; " + std::string(settings_of(engine))};
  } catch (const left_out& reason) {
    return {.absent = reason.why};
  }
}

std::vector<std::string> command_of(std::string_view engine) {
  if (engine != "pekko") return {program_of(engine)};
  const path folder = folder_of(engine);
  const std::string needed = trimmed(contents(folder / "classpath"));
  return {"java", "-XX:+UseParallelGC", "-cp", (folder / "classes").string() + ":" + needed,
          "Savina"};
}

}  // namespace troupe::lab::savina
