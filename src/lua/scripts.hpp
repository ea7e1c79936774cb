// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/sync/mutex.hpp>

namespace troupe::lua::detail {

/// A text of an application, and its name in messages: "chat/rooms.lua".
struct script_text {
  std::string name;
  std::string text;
};

/// The folder of an application's scripts. No file outside of it is read, whatever name is
/// requested and wherever a symbolic link points.
///
/// Threads: any.
class script_folder {
 public:
  /// Accepts a folder with a main.lua, or a file, which may require others of its folder.
  /// Errors: application_error.
  explicit script_folder(const std::filesystem::path& from);

  /// The file of main.lua.
  [[nodiscard]] const std::filesystem::path& main() const noexcept { return main_; }

  /// Returns the possible files of the module "a.b": a/b.lua, then a/b/init.lua.
  /// Errors: application_error if the name is invalid.
  [[nodiscard]] std::vector<std::filesystem::path> candidates(std::string_view module) const;

  /// Errors: application_error if the file cannot be read, or is a link that leads out of the
  ///         folder.
  [[nodiscard]] script_text read(const std::filesystem::path& file) const;

 private:
  std::filesystem::path folder_;  // canonical
  std::filesystem::path main_;    // canonical
};

/// A snapshot of an application's scripts. Each text is read once, however many instances request
/// it and whenever they do. A restarted instance therefore runs the same scripts as the others,
/// even if the folder has changed since.
///
/// Threads: any.
class script_version {
 public:
  /// Reads main.lua, if it is readable.
  explicit script_version(script_folder from);

  /// Errors: application_error if it could not be read.
  [[nodiscard]] const script_text& main() const;

  /// Returns the text of "a.b", which remains valid; null if it does not exist.
  /// Errors: as script_folder's; application_error if too many modules that do not exist have been
  ///         requested.
  [[nodiscard]] const script_text* module(std::string_view name) const;

  /// Whether one of the requested files was written, created or removed since.
  [[nodiscard]] bool is_outdated() const;

 private:
  // Limit of requested modules that do not exist: each name is kept.
  static constexpr std::size_t missing_max = 1'000;

  const script_folder folder_;
  mutable mutex mutex_;                                           // guards the members below
  mutable std::map<std::filesystem::path, std::uint64_t> files_;  // with their stamps
  mutable std::map<std::string, std::optional<script_text>, std::less<>> modules_;
  mutable std::size_t missing_ = 0;
  std::optional<script_text> main_;
  std::string main_problem_;
};

}  // namespace troupe::lua::detail
