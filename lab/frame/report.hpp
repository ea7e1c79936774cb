// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lab/frame/experiment.hpp"
#include "lab/frame/host.hpp"
#include "lab/frame/measuring.hpp"

namespace troupe::lab {

/// For each metric that the experiment reports a table with what was published; then one of what the
/// operating system says.
void print_report(std::ostream& out, const measurements& found,
                  const std::vector<published>& figures);

/// One line about the machine and one about the program.
void print_host(std::ostream& out, const host& where);

/// The one object of --json.
nlohmann::ordered_json json_of(const std::string& name, const host& where, const sizes& chosen,
                               unsigned rounds, const measurements& found);

/// To a file, or to stdout if it is "-". Throws std::runtime_error if it cannot be written.
void write_json(const nlohmann::ordered_json& what, const std::string& file);

/// The parts that are not empty, with ", " between them.
std::string join(const std::vector<std::string>& parts);

}  // namespace troupe::lab
