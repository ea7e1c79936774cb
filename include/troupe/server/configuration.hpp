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

/// Thrown for an invalid configuration. The text is one line: "troupe.toml:12:8: listen.port is
/// 70000; allowed are 0 to 65535".
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
  /// Writes one line for each answered request and each closed WebSocket, independent of the level.
  /// Values in the query of a request are omitted because they may be secrets.
  bool access = true;
  /// The maximum number of such lines per second; further ones are dropped and counted.
  std::uint64_t access_per_second = 10'000;
};

/// Operations: paths for health, readiness and metrics. Empty: not served.
struct admin_paths {
  std::string health = "/healthz";
  std::string ready = "/readyz";
  std::string metrics = "/metrics";
  /// A Unix domain socket for commands such as `troupe reload`. Empty: none.
  std::filesystem::path control = {};
  /// Upgrades applications automatically when their files change.
  bool watch = false;
};

/// One application, and the paths at which it is served.
struct served_application {
  lua::application_options options = {};
  /// The path of its WebSockets.
  std::string route = {};
  /// A folder of static files, or empty; and the path at which it is served.
  std::filesystem::path files = {};
  std::string files_route = {};
};

/// All settings of `troupe serve`. The default configuration serves nothing.
struct configuration {
  /// The file that it was read from, or empty.
  std::filesystem::path file = {};

  http::options http = {};
  system_options system = {};
  log_options log = {};
  admin_paths admin = {};
  /// How long, on shutdown, the server reports that it is not ready while it still accepts
  /// connections.
  std::chrono::milliseconds unready_delay{0};
  /// The time for on_stop of all applications, after http.limits.drain_timeout.
  std::chrono::milliseconds stop_timeout{5'000};
  /// Limits of the resources that all applications share.
  lua::shared_limits shared = {};
  /// Sorted by name.
  std::vector<served_application> applications = {};
};

/// Reads a TOML file. Relative paths in it are relative to its folder, which is prepended to them.
///
/// Errors: configuration_error if the file cannot be read or its content is invalid: an unknown
///         key, a wrong type, a value out of range, a duplicate name or path, a missing file.
[[nodiscard]] configuration read_configuration(const std::filesystem::path& file);

/// Parses the content of such a file. `file` is used for error messages and relative paths.
[[nodiscard]] configuration parse_configuration(std::string_view text,
                                                const std::filesystem::path& file);

/// Describes an application given by its path alone: a folder with main.lua, or a Lua file. Its
/// name is that of the folder, or of the file without ".lua"; its route is "/NAME".
///
/// Errors: configuration_error if there is no application, or its name would be invalid.
[[nodiscard]] served_application application_at(const std::filesystem::path& path);

/// Checks that a configuration has no duplicate names or paths, as parse_configuration() does at
/// its end. For code that adds to a configuration.
///
/// Errors: configuration_error.
void expect_no_duplicates(const configuration& all);

/// A key of the file, for documentation: its full name, "applications.NAME.limits.run_timeout", its
/// default, and its allowed values.
struct documented_key {
  std::string name;
  std::string initially;
  std::string allowed;
  /// It takes effect on SIGHUP; other keys need a restart.
  bool reloads;
};
[[nodiscard]] std::vector<documented_key> all_keys();

/// A key whose value differs between two configurations.
struct difference {
  std::string name;
  std::string before;
  std::string now;
  bool reloads;
};
[[nodiscard]] std::vector<difference> differences(const configuration& before,
                                                  const configuration& now);

}  // namespace troupe::server
