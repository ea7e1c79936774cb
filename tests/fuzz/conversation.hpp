// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/statistics.hpp>

namespace troupe::fuzz {

/// One client and one connection of the server, set up as in programs: with its own stages and
/// parsers, a route for each kind of response, and sessions. There are two differences: the socket
/// is one of a pair, and everything runs in a simulation, on this thread and in virtual time.
///
/// The routes are "/echo", a handler for GET and POST that responds with the request's body;
/// "/page", bytes of the program; "/files/", a folder; and "/chat", a WebSocket whose session
/// echoes every message.
class conversation {
 public:
  // Small enough for short inputs to reach them.
  static constexpr std::size_t header_bytes_max = 512;
  static constexpr std::size_t body_bytes_max = 256;
  static constexpr std::size_t message_bytes_max = 160;

  /// The seed determines the order in which actors are scheduled.
  explicit conversation(std::uint64_t seed);
  ~conversation();
  conversation(const conversation&) = delete;
  conversation& operator=(const conversation&) = delete;

  /// Sends the bytes, and runs everything that follows at once. Bytes that cannot be sent are lost.
  void say(std::string_view bytes);
  void hang_up();
  /// Lets this much virtual time pass.
  void wait(std::chrono::seconds time);

  /// All bytes received from the server.
  [[nodiscard]] const std::string& heard() const noexcept;

  struct message {
    bool is_text = false;
    std::string data;
    friend bool operator==(const message&, const message&) = default;
  };
  struct closing {
    std::uint16_t code = 0;
    std::string reason;
    friend bool operator==(const closing&, const closing&) = default;
  };
  /// The messages that the session received, in order.
  [[nodiscard]] const std::vector<message>& messages() const noexcept;
  [[nodiscard]] const std::vector<closing>& closings() const noexcept;

  // ── The connection ──────────────────────────────────────────────────────────────────────────
  [[nodiscard]] bool is_over() const noexcept;
  /// The text of an exception that an actor has thrown; empty without one.
  [[nodiscard]] const std::string& failure() const noexcept;
  [[nodiscard]] http::statistics statistics() const noexcept;

 private:
  class inside;
  const std::unique_ptr<inside> inside_;
};

}  // namespace troupe::fuzz
