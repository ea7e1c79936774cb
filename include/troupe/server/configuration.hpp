// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/options.hpp>
#include <troupe/lua/application.hpp>
#include <troupe/lua/log.hpp>
#include <troupe/lua/shared.hpp>
#include <troupe/troupe.hpp>

namespace troupe::server {

/// What is wrong with a configuration, in one line: "troupe.toml:12:8: listen.port is 70000; allowed are 0 to 65535".
class configuration_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class log_format : std::uint8_t { text, json };

struct log_options {
  lua::severity level = lua::severity::info;
  /// A file, "stdout" or "stderr".
  std::string to = "stderr";
  log_format format = log_format::text;
  /// One line for each answered request and each WebSocket that has ended, whatever the level is.
  bool access = true;
};

/// Paths for who looks after the server. Empty: none.
struct admin_paths {
  std::string health = "/healthz";
  std::string ready = "/readyz";
  std::string metrics = "/metrics";
  /// A socket for commands, as `troupe reload` sends them. Empty: none.
  std::filesystem::path control = {};
  /// Applications whose files change are upgraded by themselves.
  bool watch = false;
};

/// One application, and where it is served.
struct served_application {
  lua::application_options options = {};
  /// The path of its WebSockets.
  std::string route = {};
  /// A folder of static files, or empty; and the path that it is served at.
  std::filesystem::path files = {};
  std::string files_route = {};
};

/// All that `troupe serve` can be told. What it is by default serves nothing.
struct configuration {
  /// Where it comes from; empty if it was not read.
  std::filesystem::path file = {};

  http::options http = {};
  system_options system = {};
  log_options log = {};
  admin_paths admin = {};
  /// For how long it says that it is not ready any more, and lets everybody in.
  std::chrono::milliseconds unready_time{0};
  /// For on_stop of all applications, after http.limits.drain_time.
  std::chrono::milliseconds stop_time{5'000};
  /// What all applications share.
  lua::shared_limits shared = {};
  /// In the order of their names.
  std::vector<served_application> applications = {};
};

/// Reads a file of TOML. Paths in it are relative to its folder; they come back with it in front.
///
/// Errors: configuration_error, if the file cannot be read or if anything in it is not as it should be: an unknown key,
///         another type, a value that is not allowed, a name or a path that is there twice, a file that is missing.
[[nodiscard]] configuration read_configuration(const std::filesystem::path& file);

/// The same of what a file would hold. `file` is for messages and for relative paths.
[[nodiscard]] configuration parse_configuration(std::string_view text,
                                                const std::filesystem::path& file);

/// An application that is named by its path alone: a folder with main.lua, or a file of Lua. Its name is that of the
/// folder, or of the file without ".lua"; its route is "/NAME".
///
/// Errors: configuration_error, if there is none, or its name would be none.
[[nodiscard]] served_application application_at(const std::filesystem::path& path);

/// What parse_configuration() checks last: that nothing is there twice. For who adds to one.
///
/// Errors: configuration_error.
void expect_no_duplicates(const configuration& all);

/// A key of the file, for documentation: its full name, "applications.NAME.limits.run_time", its default, and what is
/// allowed.
struct documented_key {
  std::string name;
  std::string initially;
  std::string allowed;
  /// It takes effect with SIGHUP; the others need a restart.
  bool reloads;
};
[[nodiscard]] std::vector<documented_key> all_keys();

/// What one configuration says and another says otherwise, by full names.
struct difference {
  std::string name;
  std::string before;
  std::string now;
  bool reloads;
};
[[nodiscard]] std::vector<difference> differences(const configuration& before,
                                                  const configuration& now);

}  // namespace troupe::server
