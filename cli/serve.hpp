// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cli {

struct serve_options {
  std::string config;
  std::vector<std::string> applications;
  std::string address;
  std::optional<std::uint16_t> port;
  std::string control;
  bool check = false;
  bool watch = false;
};

/// Adds `troupe serve`. Both references are used when the command line is parsed.
void add_serve(CLI::App& program, serve_options& options, int& result);

struct reload_options {
  std::string config;
  std::string control;
};

/// Adds `troupe reload`. Both references are used when the command line is parsed.
void add_reload(CLI::App& program, reload_options& options, int& result);

}  // namespace troupe::cli
