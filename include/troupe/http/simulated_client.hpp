// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <troupe/http/websocket.hpp>
#include <troupe/net/loop.hpp>

namespace troupe::http {

/// A WebSocket client for tests of a server in a simulation. It uses a net::simulated_network and
/// Boost.Beast, a codec that is independent of the server's.
///
///   net::loop clients(system);
///   http::simulated_client anna(clients, "10.0.0.1");
///   anna.connect(server.port(), "/chat");
///   sim.run_until([&] { return anna.is_open(); }, 1s);
///   anna.send("hello");
///
/// Threads:   the simulation's.
/// Invariant: it must be destroyed before its loop.
class simulated_client {
 public:
  /// `address`: the client's address, as the server sees it.
  explicit simulated_client(net::loop& on, const std::string& address = "127.0.0.1");
  simulated_client(simulated_client&&) noexcept = default;
  simulated_client& operator=(simulated_client&&) noexcept;
  /// Resets the connection if it is open.
  ~simulated_client();

  /// Begins to connect; is_open() and end() report the outcome. May be called only once.
  void connect(std::uint16_t port, std::string path);

  /// Sends a text message as soon as the connection is open, in the order of the calls. No effect
  /// after the end of the connection.
  void send(std::string text);
  void close(std::uint16_t code = 1000, std::string reason = {});
  /// Resets the connection without a close handshake.
  void reset();

  /// Sets a function that is called for each text or binary message, first for those already
  /// received.
  void on_message(std::function<void(std::string)> does);
  /// Returns the next received message, if there is one and on_message() was not called.
  [[nodiscard]] std::optional<std::string> take();

  [[nodiscard]] bool is_open() const noexcept;
  /// Returns how the connection was closed: code 1006 if there was no close handshake. If the
  /// connection could not be opened, the code is 1006, with the reason.
  [[nodiscard]] const std::optional<closed>& end() const noexcept;
  [[nodiscard]] std::size_t messages_in() const noexcept;

 private:
  class state;
  std::shared_ptr<state> state_;  // shared with completion handlers
};

}  // namespace troupe::http
