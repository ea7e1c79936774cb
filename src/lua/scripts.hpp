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

/// A text of an application, and what messages call it: "chat/rooms.lua".
struct script_text {
  std::string name;
  std::string text;
};

/// Where an application's scripts are: nothing outside of its folder is read, whatever it is asked for or a
/// symbolic link points to.
///
/// Threads: any.
class script_folder {
 public:
  /// A folder with a main.lua, or a file, which may require others of its folder.
  /// Errors: application_error.
  explicit script_folder(const std::filesystem::path& from);

  /// The file of main.lua.
  [[nodiscard]] const std::filesystem::path& main() const noexcept { return main_; }

  /// Where the text of "a.b" may be: a/b.lua, then a/b/init.lua.
  /// Errors: application_error if the name is none.
  [[nodiscard]] std::vector<std::filesystem::path> candidates(std::string_view module) const;

  /// Errors: application_error if it cannot be read, or is a link that leads out of the folder.
  [[nodiscard]] script_text read(const std::filesystem::path& file) const;

 private:
  std::filesystem::path folder_;  // canonical
  std::filesystem::path main_;    // canonical
};

/// What an application's scripts are at one time: each text is read once, however many instances ask for it, and whenever they
/// do. So one that begins anew is made of what the others are made of, whatever has been written to the folder since.
///
/// Threads: any.
class script_version {
 public:
  /// Reads main.lua, if it can be read.
  explicit script_version(script_folder from);

  /// Errors: application_error if it could not be read.
  [[nodiscard]] const script_text& main() const;

  /// The text of "a.b", which stays; null if there is none.
  /// Errors: as script_folder's; application_error if too many that are not there have been asked for.
  [[nodiscard]] const script_text* module(std::string_view name) const;

  /// Whether one of the files that were looked for has been written, made or removed since.
  [[nodiscard]] bool is_outdated() const;

 private:
  // That were asked for and are not there: each of them is kept.
  static constexpr std::size_t missing_max = 1'000;

  const script_folder folder_;
  mutable mutex mutex_;                                           // guards what follows
  mutable std::map<std::filesystem::path, std::uint64_t> files_;  // and their stamps
  mutable std::map<std::string, std::optional<script_text>, std::less<>> modules_;
  mutable std::size_t missing_ = 0;
  std::optional<script_text> main_;
  std::string main_problem_;
};

}  // namespace troupe::lua::detail
