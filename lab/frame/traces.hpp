// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "lab/frame/measuring.hpp"

namespace troupe::lab {

/// The file of one variant's timeline: "run.json", "each, said" → "run-each-said.json".
std::string traced_name(const std::string& file, const std::string& variant);

/// Has each subject of Troupe's record a timeline: into `file`, or, if they are several, into one each, with the
/// variant's name before the extension. Returns the files. What was there is removed.
std::vector<std::string> record_traces(std::vector<subject>& subjects, const std::string& file);

/// What was hot, by the tables beside those of the files that have been written.
void print_hot(std::ostream& out, const std::vector<std::string>& files);

}  // namespace troupe::lab
