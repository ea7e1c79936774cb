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

/// What was there between two moments of a load.
struct window {
  double wall_s = 0;
  double server_cpu_s = 0;
  double client_cpu_s = 0;     // of this thread
  std::uint64_t messages = 0;  // that have come from the server
  latencies took;
};

/// A number of WebSocket clients on one thread, which never has more to do for a message than the server: of what
/// has come, one read takes all, and the answers to it go out with one write.
///
/// Threads: one.
/// Errors:  std::runtime_error for a server that cannot be reached, closes, breaks the protocol, says
///          something else than it should, or does not say it within 20 s.
class load {
 public:
  using processor_time = std::function<double()>;  // of the server, in seconds

  /// Opens them one after the other.
  load(std::uint16_t port, bool tls, std::size_t connections, processor_time of_server);

  std::size_t size() const { return clients_.size(); }

  /// Each sends a message, and waits for its echo.
  void say_once(std::size_t bytes) { (void)echo(bytes, 1, {}, {}); }

  /// Each keeps so many messages in flight, and waits for the echo of all in the end.
  window echo(std::size_t bytes, std::size_t depth, std::chrono::nanoseconds warm_up,
              std::chrono::nanoseconds measured);

  /// One says so many messages, which go to all, and another one when all have got one.
  window broadcast(std::size_t bytes, std::size_t depth, std::chrono::nanoseconds warm_up,
                   std::chrono::nanoseconds measured);

  /// None says anything, but to answer pings: window::messages are these.
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
    std::vector<std::uint64_t> sent;  // when, a ring
    std::size_t oldest = 0;           // of these
    std::size_t answered = 0;         // since it was last looked at
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

/// As many descriptors as that, and some more, for this process and those that it makes.
///
/// Errors: std::runtime_error that says how many are allowed.
void expect_descriptors(std::size_t connections);

}  // namespace troupe::lab
