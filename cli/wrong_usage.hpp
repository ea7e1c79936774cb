// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace troupe::cli {

/// The values of an option: whole numbers from least to most.
struct range {
  std::uint64_t least;
  std::uint64_t most;
};

/// The word as it was typed, in quotes and without characters that would break the line.
std::string quoted(std::string word);

/// Adds an option that takes a whole number. For other values it reports the value and the allowed
/// range.
CLI::Option* add_number(CLI::App& command, const std::string& name, range allowed,
                        const std::string& help, std::function<void(std::uint64_t)> set);

/// For CLI::Option::check: "there is no <kind> 'rign'; did you mean ring?"
CLI::Validator one_of(const std::string& kind, std::vector<std::string> names);

/// For CLI::Option::check of a file or a folder.
std::string is_named(const std::string& file);

/// For CLI::Option::check: "'/nowhere' is not a folder"
std::string is_folder(const std::string& path);

/// Returns one line that says what could not be parsed, and what to do.
std::string what_is_wrong(const CLI::App& program, const CLI::ParseError& wrong);

}  // namespace troupe::cli
