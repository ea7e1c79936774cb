// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

// How programs of others are built, with the tools that are installed.

namespace troupe::lab {

/// Why an engine takes no part.
struct left_out {
  std::string why;
};

/// Runs a tool to its end, with nice, and returns what it prints. Throws left_out.
std::string run_tool(const std::vector<std::string>& command, const std::filesystem::path& folder,
                     const std::vector<std::pair<std::string, std::string>>& environment = {});

/// Looks into PATH.
bool is_installed(const std::string& program);

/// The folder of that name within another one; makes it.
std::filesystem::path folder_for(const std::filesystem::path& within, const std::string& name);

std::string contents(const std::filesystem::path& file);
std::string trimmed(const std::string& text);

/// The word of that number, of the first line; "?" if there is none.
std::string word(const std::string& text, unsigned number);

/// The version that Cargo.lock pins, or "?".
std::string locked_version(const std::string& lock, const std::string& package);

}  // namespace troupe::lab
