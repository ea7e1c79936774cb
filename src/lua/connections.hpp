// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <lua.hpp>
#include <map>
#include <optional>
#include <string>

#include <troupe/http/websocket.hpp>
#include <troupe/troupe.hpp>

#include "messages.hpp"
#include "tasks.hpp"

namespace troupe::lua::detail {

/// A WebSocket that a script has connected.
struct connection {
  std::optional<http::websocket> socket = {};  // nothing while it is being opened
  std::uint64_t opener = 0;                    // the wait of the handler that connects; 0: open
  std::uint64_t receiver = 0;                  // the wait of the handler that receives; 0: none
  timer patience = {};                         // the time-out of the receiver
  std::deque<connection_said> unread = {};     // each keeps its place in the connection's window
  bool is_overfull = false;                    // further messages are dropped until it is closed
  std::optional<connection_closed> closed = {};
  int itself = LUA_NOREF;  // the script's object, while it must not be collected
  int on_message = LUA_NOREF;
  int on_close = LUA_NOREF;
};

/// The WebSockets that the scripts of one program have connected. A message calls the connection's
/// handler. Without a handler it is kept for receive(): as many messages as the connection's window
/// has places, after which backpressure reaches the other end. The kept messages of all connections
/// together have at most as many bytes as the instance may have memory; a connection that would
/// exceed this is closed with 1013.
///
///   add() ─▶ being opened ─opened()─▶ open ─closed()─▶ closed ─ all messages received ─▶ gone
///                └─ not_opened() ─▶ gone      drop(): no script refers to it any more ─▶ gone
///
/// Threads: the instance's turns.
class connections {
 public:
  connections(tasks& with, state& of, std::size_t most) : tasks_(with), state_(of), most_(most) {}
  ~connections() { end_all(1001, "the application's instance has stopped"); }
  connections(const connections&) = delete;
  connections& operator=(const connections&) = delete;

  // ── For functions that scripts call ─────────────────────────────────────────────────────────
  /// Raises an error if there are too many connections.
  connection& add(lua_State* in, std::uint64_t id);
  /// Returns null if the connection is gone.
  [[nodiscard]] connection* find(std::uint64_t id) noexcept;
  /// Pushes the data and whether it is binary, or nil, the reason, the code and its text. Pushes
  /// nothing and returns 0 if the caller has to wait.
  int receive(lua_State* in, std::uint64_t id, connection& from);
  void drop(std::uint64_t id) noexcept;

  // ── Events ──────────────────────────────────────────────────────────────────────────────────
  void opened(std::uint64_t id, http::websocket socket);
  void not_opened(std::uint64_t id, const std::string& why);
  void said(connection_said&& m);
  void closed(connection_closed&& m);
  /// Returns true if `wait` was the time-out of a receiver.
  bool timed_out(std::uint64_t wait);

  /// Sends a close frame on all connections; messages that still arrive are delivered.
  void close_all(std::uint16_t code, const std::string& reason);
  /// Does the same and then removes all connections.
  void end_all(std::uint16_t code, const std::string& reason) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  class handled_message;

  void call_on_message(const connection& of, connection_said&& m);
  void call_on_close(const connection& of);
  void wake_receiver(std::uint64_t id, connection& of);
  void forget(std::uint64_t id) noexcept;
  void release(connection& its) noexcept;

  tasks& tasks_;
  state& state_;
  const std::size_t most_;
  std::size_t unread_bytes_ = 0;  // of all connections
  std::map<std::uint64_t, connection> all_;
};

}  // namespace troupe::lua::detail
