// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace troupe::server {

/// What is answered to a command: lines of text for people, and whether it was done.
struct command_result {
  bool done = true;
  std::string text = {};
};

/// A socket in the file system, over which the server is told what to do: who may write to the file may. One line is read, and
/// "done" or "failed", a line end and text are answered.
///
/// Threads: it has one of its own, which calls `run`, one command at a time; the rest from one.
class control_socket {
 public:
  static constexpr std::size_t command_bytes_max = 1024;

  /// A file of that name that is a socket which nobody listens at is replaced.
  ///
  /// Errors: std::runtime_error that names the path and says what is wrong with it.
  control_socket(const std::filesystem::path& at,
                 std::function<command_result(const std::string& command)> run);
  control_socket(const control_socket&) = delete;
  control_socket& operator=(const control_socket&) = delete;
  /// Waits for a command that is being run, and removes the file.
  ~control_socket();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Sends a command to the server that listens there, and waits for what becomes of it.
///
/// Errors: std::runtime_error if nobody listens there, or there is no answer in time.
[[nodiscard]] command_result send_command(const std::filesystem::path& to,
                                          const std::string& command,
                                          std::chrono::milliseconds timeout);

}  // namespace troupe::server
