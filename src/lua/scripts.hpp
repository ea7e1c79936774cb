// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

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

  /// Errors: application_error if it cannot be read.
  [[nodiscard]] script_text main() const { return read(main_); }

  /// The text of "a.b": a/b.lua, or a/b/init.lua. Nothing if there is none.
  /// Errors: application_error if the name is none, or leads out of the folder.
  [[nodiscard]] std::optional<script_text> module(std::string_view name) const;

 private:
  [[nodiscard]] script_text read(const std::filesystem::path& file) const;

  std::filesystem::path folder_;  // canonical
  std::filesystem::path main_;    // canonical
};

}  // namespace troupe::lua::detail
