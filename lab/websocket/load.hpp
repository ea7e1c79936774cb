// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/websocket/latencies.hpp"
#include "lab/websocket/wire.hpp"
#include "src/http/frame_parser.hpp"

namespace troupe::lab {

/// The figures of a load between two points in time.
struct window {
  double wall_s = 0;
  double server_cpu_s = 0;
  double client_cpu_s = 0;     // of this thread
  std::uint64_t messages = 0;  // received from the server
  latencies took;
};

/// A number of WebSocket clients on one thread. For a message they never do more work than the
/// server: one read takes all available data, and one write sends all replies to it.
///
/// Threads: one.
/// Errors:  std::runtime_error for a server that cannot be reached, closes, violates the protocol,
///          sends another message than expected, or does not send it within 20 s.
class load {
 public:
  using processor_time = std::function<double()>;  // of the server, in seconds

  /// Opens the connections one at a time.
  load(std::uint16_t port, bool tls, std::size_t connections, processor_time of_server);

  std::size_t size() const { return clients_.size(); }

  /// Each client sends a message, and waits for its echo.
  void say_once(std::size_t bytes) { (void)echo(bytes, 1, {}, {}); }

  /// Each client keeps that number of messages in flight, and waits for all echoes at the end.
  window echo(std::size_t bytes, std::size_t depth, std::chrono::nanoseconds warm_up,
              std::chrono::nanoseconds measured);

  /// One client sends that number of messages, which go to all, and another message when all have
  /// received one.
  window broadcast(std::size_t bytes, std::size_t depth, std::chrono::nanoseconds warm_up,
                   std::chrono::nanoseconds measured);

  /// No client sends anything except replies to pings, which window::messages counts.
  window quiet(std::chrono::nanoseconds measured);

 private:
  class epoll {
   public:
    epoll();
    epoll(const epoll&) = delete;
    epoll& operator=(const epoll&) = delete;
    ~epoll();
    int descriptor() const { return descriptor_; }

   private:
    int descriptor_;
  };

  struct client {
    explicit client(wire over);

    wire line;
    http::detail::frame_parser parser;
    std::string unread;
    std::string unsent;
    std::vector<std::uint64_t> sent;  // the times, a ring
    std::size_t oldest = 0;           // index into these
    std::size_t answered = 0;         // since the last check
  };

  void open(std::uint16_t port, SSL_CTX* context);
  void upgrade(client& one);
  void say(client& one, std::string_view frames);
  void flush(client& one);
  void watch(std::size_t index, bool writing, bool anew);
  template <class Heard>
  void receive(client& one, const Heard& heard);
  template <class Heard, class Done>
  void look(int timeout_ms, const Heard& heard, const Done& done);
  std::string frames_of(std::size_t bytes, std::size_t count) const;
  window begin_window() const;
  void end_window(window& of) const;

  client_context context_;
  const processor_time of_server_;
  epoll events_;
  std::vector<client> clients_;
  std::vector<char> buffer_;
  std::uint64_t pings_ = 0;
};

/// Raises the limit of descriptors for that number of connections, for this process and its
/// children.
///
/// Errors: std::runtime_error with the permitted number.
void expect_descriptors(std::size_t connections);

}  // namespace troupe::lab
