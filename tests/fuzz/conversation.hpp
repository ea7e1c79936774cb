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

/// One client and one connection of the server, as it is in programs: with its own stages and
/// parsers, a route for each kind of answer, and sessions. What is not as there: the socket is one of a
/// pair, and all of it runs in a simulation, on this thread and in virtual time.
///
/// There are "/echo", a handler for GET and POST that answers with what it was sent; "/page", bytes of
/// the program; "/files/", a folder; and "/chat", a WebSocket whose session sends all back.
class conversation {
 public:
  // So small that short inputs reach them.
  static constexpr std::size_t header_bytes_max = 512;
  static constexpr std::size_t body_bytes_max = 256;
  static constexpr std::size_t message_bytes_max = 160;

  /// The seed decides in which order the actors have their turns.
  explicit conversation(std::uint64_t seed);
  ~conversation();
  conversation(const conversation&) = delete;
  conversation& operator=(const conversation&) = delete;

  /// Sends that, and lets happen what it leads to at once. What cannot be sent is lost.
  void say(std::string_view bytes);
  void hang_up();
  /// Lets so much time pass.
  void wait(std::chrono::seconds time);

  /// All that has come from the server.
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
  /// What the session was sent, in order.
  [[nodiscard]] const std::vector<message>& messages() const noexcept;
  [[nodiscard]] const std::vector<closing>& closings() const noexcept;

  // ── The connection ──────────────────────────────────────────────────────────────────────────
  [[nodiscard]] bool is_over() const noexcept;
  /// What an actor has thrown; empty if none has.
  [[nodiscard]] const std::string& failure() const noexcept;
  [[nodiscard]] http::statistics statistics() const noexcept;

 private:
  class inside;
  const std::unique_ptr<inside> inside_;
};

}  // namespace troupe::fuzz
