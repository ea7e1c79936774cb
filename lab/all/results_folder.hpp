// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace troupe::lab {

/// The folder is not suitable for results. The text says which folder, why, and what to do.
struct unsuitable_folder : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A folder with a file for the results of each experiment: `<experiment>.json`, the object of
/// --json. A README in it says so, and distinguishes it from other folders.
///
/// Invariant: a file exists completely or not at all.
class results_folder {
 public:
  /// Creates the folder if it does not exist.
  ///
  /// Errors: unsuitable_folder if it has other content; std::filesystem::filesystem_error.
  explicit results_folder(std::filesystem::path folder);

  const std::filesystem::path& path() const { return folder_; }

  /// Returns nothing if the experiment has no file.
  ///
  /// Errors: unsuitable_folder if the file is not a result of that experiment.
  std::optional<nlohmann::ordered_json> find(const std::string& experiment) const;

  /// Returns the time at which the experiment's file was written.
  std::filesystem::file_time_type written(const std::string& experiment) const;

  void remove(const std::string& experiment);

  /// Errors: std::runtime_error if it cannot be written.
  void write(const std::string& experiment, const nlohmann::ordered_json& result);

 private:
  std::filesystem::path file_of(const std::string& experiment) const;

  std::filesystem::path folder_;
};

}  // namespace troupe::lab
