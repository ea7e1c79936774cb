// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace troupe::cli {

/// `troupe lab`. What it returns must stay until the command line has been parsed, and so must `result`.
std::shared_ptr<void> add_lab(CLI::App& program, int& result);

}  // namespace troupe::cli
