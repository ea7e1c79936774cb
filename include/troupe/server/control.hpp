// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace troupe::server {

/// The reply to a command: whether it succeeded, and text for people.
struct command_result {
  bool done = true;
  std::string text = {};
};

/// A Unix domain socket that receives commands for the server. A process that may write to the
/// socket file may send commands. A command is one line; the reply is "done" or "failed", a line
/// end, and text.
///
/// Threads: it has its own thread, which calls `run`, one command at a time; all else from one
///          thread.
class control_socket {
 public:
  static constexpr std::size_t command_bytes_max = 1024;

  /// Replaces an existing socket file of this name if no process listens on it.
  ///
  /// Errors: std::runtime_error that names the path and the problem.
  control_socket(const std::filesystem::path& at,
                 std::function<command_result(const std::string& command)> run);
  control_socket(const control_socket&) = delete;
  control_socket& operator=(const control_socket&) = delete;
  /// Waits for a running command, and removes the file.
  ~control_socket();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Sends a command to the server that listens there, and waits for its result.
///
/// Errors: std::runtime_error if no server listens there, or there is no reply in time.
[[nodiscard]] command_result send_command(const std::filesystem::path& to,
                                          const std::string& command,
                                          std::chrono::milliseconds timeout);

}  // namespace troupe::server
