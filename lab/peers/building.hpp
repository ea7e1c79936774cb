// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

// How programs of other projects are built, with the installed tools.

namespace troupe::lab {

/// Why an engine is left out.
struct left_out {
  std::string why;
};

/// Runs a tool to its end, with nice, and returns its output. Throws left_out.
std::string run_tool(const std::vector<std::string>& command, const std::filesystem::path& folder,
                     const std::vector<std::pair<std::string, std::string>>& environment = {});

/// Searches PATH.
bool is_installed(const std::string& program);

/// Returns the folder of that name within another one; creates it.
std::filesystem::path folder_for(const std::filesystem::path& within, const std::string& name);

std::string contents(const std::filesystem::path& file);
std::string trimmed(const std::string& text);

/// Returns the word of that number, of the first line; "?" if it does not exist.
std::string word(const std::string& text, unsigned number);

/// Returns the version in Cargo.lock, or "?".
std::string locked_version(const std::string& lock, const std::string& package);

}  // namespace troupe::lab
