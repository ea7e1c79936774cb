// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "lab/frame/measuring.hpp"

namespace troupe::lab {

/// Returns the file of one variant's timeline: "run.json", "each, said" → "run-each-said.json".
std::string traced_name(const std::string& file, const std::string& variant);

/// Makes each subject that can do so record a timeline: into `file`, or, if there are several, into
/// one file each, with the variant's name before the extension. Returns the files. Existing files
/// are removed.
std::vector<std::string> record_traces(std::vector<subject>& subjects, const std::string& file);

/// Prints the hot spots, from the tables beside the trace files.
void print_hot(std::ostream& out, const std::vector<std::string>& files);

}  // namespace troupe::lab
