// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace troupe::lab {

/// One file of HTML that needs nothing else, not even a network. What the data says cannot break out of it.
std::string page_of(const nlohmann::ordered_json& data);

/// `troupe lab report`: makes the page of these files; "-" is stdout. Returns what the program exits with.
///
/// Errors: std::runtime_error if a file is none of the lab's, or the page cannot be written.
int write_report(const std::vector<std::string>& files, const std::string& html);

/// Whether the page would overwrite what it is made of.
bool is_one_of(const std::string& file, const std::vector<std::string>& files);

}  // namespace troupe::lab
