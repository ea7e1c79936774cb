// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace troupe::lab {

/// Where the two sides run: on a processor each, if the process may use two.
struct two_processors {
  std::size_t server;
  std::size_t client;

  bool is_one() const { return server == client; }
};

/// The first two that this process may use.
two_processors choose_processors();

/// Threads and processes that the caller makes from now on stay there too.
void stay_on(std::size_t processor);

/// How the experiment has a server serve.
struct server_setup {
  bool broadcasts = false;  ///< what one client says goes to all
  bool tls = false;
  /// A client that says nothing for so long is given up, and pinged after half of it.
  std::chrono::milliseconds idle_time{std::chrono::hours(1)};
};

/// What a server that is part of this program calls once it listens.
class announcement {
 public:
  explicit announcement(int to) : to_(to) {}
  void listens_at(std::uint16_t port) const;

 private:
  int to_;
};

using server_body = void (*)(const server_setup& how, const announcement& ready);

/// A server in a process of its own, on one processor, with what it uses. It dies with the caller.
///
/// Threads: of a process with one thread.
/// Errors:  std::runtime_error and std::system_error for one that cannot be started or has ended.
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

  /// Of all its threads, user and system.
  double cpu_s() const;
  /// Pages of its own and of files, in bytes.
  double resident_bytes() const;

  /// Waits until it has used next to nothing for a while, `limit` at the most.
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
