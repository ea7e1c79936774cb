// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace troupe::lab {

/// Returns an HTML file that needs nothing else, not even a network. The data cannot break out of
/// its element.
std::string page_of(const nlohmann::ordered_json& data);

/// `troupe lab report`: makes the page of these files; "-" is stdout. Returns the exit status of
/// the program.
///
/// Errors: std::runtime_error if a file is not one of the lab's, or the page cannot be written.
int write_report(const std::vector<std::string>& files, const std::string& html);

/// Whether the page would overwrite one of its inputs.
bool is_one_of(const std::string& file, const std::vector<std::string>& files);

}  // namespace troupe::lab
