// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace troupe::lab {

/// The processors of the two sides: one each, if the process may use two.
struct two_processors {
  std::size_t server;
  std::size_t client;

  bool is_one() const { return server == client; }
};

/// Returns the first two that this process may use.
two_processors choose_processors();

/// Threads and processes that the caller creates from now on stay on this processor too.
void stay_on(std::size_t processor);

/// How the server of the experiment is configured.
struct server_setup {
  bool broadcasts = false;  ///< a message of one client goes to all
  bool tls = false;
  /// A client that sends nothing for this time is disconnected. It is pinged after half of it.
  std::chrono::milliseconds idle_timeout{std::chrono::hours(1)};
};

/// A server that is part of this program calls this once it listens.
class announcement {
 public:
  explicit announcement(int to) : to_(to) {}
  void listens_at(std::uint16_t port) const;

 private:
  int to_;
};

using server_body = void (*)(const server_setup& how, const announcement& ready);

/// A server in a process of its own, on one processor, and its use of resources. It dies with the
/// caller.
///
/// Threads: only for a process with one thread.
/// Errors:  std::runtime_error and std::system_error for a server that cannot be started or has
///          ended.
class server_process {
 public:
  /// Runs `serve` in a copy of this process. It need not return.
  server_process(server_body serve, const server_setup& how, std::size_t processor);
  /// Runs a program that prints `port N` and serves until it is killed.
  server_process(const std::vector<std::string>& command, std::size_t processor);
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process();

  std::uint16_t port() const { return port_; }

  /// Returns the processor time of all its threads, user and system.
  double cpu_s() const;
  /// Returns the resident memory in bytes, including pages of files.
  double resident_bytes() const;

  /// Waits until it has used almost no processor time for a while, for at most `limit`.
  void settle(std::chrono::milliseconds limit = std::chrono::seconds(5)) const;

 private:
  template <class Body>
  void start(std::size_t processor, Body body);
  void await_port(int from);

  pid_t process_ = -1;
  clockid_t clock_{};
  std::uint16_t port_ = 0;
};

}  // namespace troupe::lab
