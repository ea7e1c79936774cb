// SPDX-License-Identifier: Apache-2.0
#include "lab/websocket/programs.hpp"

#include <unistd.h>
#include <boost/version.hpp>

#include <filesystem>

#include "lab/built.hpp"
#include "lab/peers/building.hpp"

namespace troupe::lab::websocket {

namespace {

using path = std::filesystem::path;

path source_of(std::string_view engine) { return path(built::source()) / "lab/websocket" / engine; }

path folder_of(std::string_view engine) { return path(built::cache()) / "websocket" / engine; }

void expect_built(std::string_view engine) {
  if (::access(program_of(engine).c_str(), X_OK) != 0) {
    throw left_out{"it is not built; `troupe lab ws` without --smoke builds it"};
  }
}

std::string version_of_gorilla(bool may_build) {
  const path source = source_of("gorilla");
  if (may_build) run_tool({"go", "build", "-o", program_of("gorilla"), "."}, source);
  expect_built("gorilla");
  const std::string line = run_tool({"go", "version", program_of("gorilla")}, source);
  const std::string needed = contents(source / "go.mod");
  const std::size_t at = needed.find("gorilla/websocket v");
  std::string version = "gorilla/websocket " + word(needed.substr(at), 1).substr(1) + " (Go";
  return version += " " + word(line, 1).substr(2) + "); net/http, a goroutine for each client";
}

std::string version_of_tungstenite(bool may_build) {
  const path source = source_of("tungstenite");
  const path folder = folder_of("tungstenite");
  if (may_build) {
    run_tool({"cargo", "build", "--release", "--locked"}, source, {{"CARGO_TARGET_DIR", folder}});
  }
  expect_built("tungstenite");
  const std::string lock = contents(source / "Cargo.lock");
  return "tokio-tungstenite " + locked_version(lock, "tokio-tungstenite") + ", tokio " +
         locked_version(lock, "tokio") + "; one thread, buffers of 4 KiB";
}

}  // namespace

std::string program_of(std::string_view engine) {
  return engine == "gorilla" ? folder_of(engine) / "echo" : folder_of(engine) / "release/echo";
}

presence look_for(std::string_view engine, bool may_build) {
  try {
    if (engine == "gorilla") return {.version = version_of_gorilla(may_build)};
    if (engine == "tungstenite") return {.version = version_of_tungstenite(may_build)};
  } catch (const left_out& reason) {
    return {.absent = reason.why};
  }
  if (engine.starts_with("beast")) {
    const std::string boost = "Boost " + std::to_string(BOOST_VERSION / 100'000) + "." +
                              std::to_string(BOOST_VERSION / 100 % 1'000) + "; one thread, ";
    return {.version = boost + (engine == "beast"
                                    ? "with a plain socket, unfragmented messages and one timer "
                                      "for all clients"
                                    : "with tcp_stream and default fragmentation")};
  }
  return {};
}

}  // namespace troupe::lab::websocket
