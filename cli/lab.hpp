// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace troupe::cli {

/// Adds `troupe lab`. The returned object and `result` must exist until the command line has been
/// parsed.
std::shared_ptr<void> add_lab(CLI::App& program, int& result);

}  // namespace troupe::cli
