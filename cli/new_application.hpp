// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace troupe::cli {

struct new_application_options {
  std::string name;
  std::string kind = "raw";
  std::string folder = ".";
};

/// Adds `troupe new app`. Both references are used when the command line is parsed.
void add_new(CLI::App& program, new_application_options& options, int& result);

}  // namespace troupe::cli
