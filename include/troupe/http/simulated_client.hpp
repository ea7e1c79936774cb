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

/// Who talks to a server in a simulation: a WebSocket in a net::simulated_network, by another codec
/// than the server's, Boost.Beast's.
///
///   net::loop clients(system);
///   http::simulated_client anna(clients, "10.0.0.1");
///   anna.connect(server.port(), "/chat");
///   sim.run_until([&] { return anna.is_open(); }, 1s);
///   anna.send("hello");
///
/// Threads: the simulation's.
/// Invariant: it ends before its loop.
class simulated_client {
 public:
  /// `address`: from where it comes.
  explicit simulated_client(net::loop& on, const std::string& address = "127.0.0.1");
  simulated_client(simulated_client&&) noexcept = default;
  simulated_client& operator=(simulated_client&&) noexcept;
  /// Closes hard, if it is connected.
  ~simulated_client();

  /// Begins to; is_open() or end() tell what became of it. Once only.
  void connect(std::uint16_t port, std::string path);

  /// In order, as soon as it is open. Nothing happens when it is over.
  void send(std::string text);
  void close(std::uint16_t code = 1000, std::string reason = {});
  /// Without any farewell: the connection is reset.
  void reset();

  /// Called for each text that comes, and each binary message; what came before, first.
  void on_message(std::function<void(std::string)> does);
  /// The next that has come, if there is one and no on_message().
  [[nodiscard]] std::optional<std::string> take();

  [[nodiscard]] bool is_open() const noexcept;
  /// How it was closed; 1006 without a farewell, or if it could not be opened: then the reason says why.
  [[nodiscard]] const std::optional<closed>& end() const noexcept;
  [[nodiscard]] std::size_t messages_in() const noexcept;

 private:
  class state;
  std::shared_ptr<state> state_;  // completion handlers share it
};

}  // namespace troupe::http
