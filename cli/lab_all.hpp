// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include "lab/all/all.hpp"

namespace troupe::cli {

/// Adds `troupe lab all`. Both references are used when the command line is parsed.
void add_all(CLI::App& lab_command, lab::all_options& options, int& result);

}  // namespace troupe::cli
