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
  std::optional<http::websocket> socket = {};  // none: it is being opened
  std::uint64_t opener = 0;                    // the wait of who connects; 0: open
  std::uint64_t receiver = 0;                  // the wait of who receives; 0: nobody
  timer patience = {};                         // of that
  std::deque<connection_said> unread = {};     // each keeps its place in the connection's window
  bool is_overfull = false;                    // what still comes is dropped, until it is closed
  std::optional<connection_closed> closed = {};
  int itself = LUA_NOREF;  // what scripts have, as long as it must not be collected
  int on_message = LUA_NOREF;
  int on_close = LUA_NOREF;
};

/// The WebSockets that the scripts of one program have connected. Who is said something calls its handler, or keeps it
/// for who receives: as many messages as the connection's window has places, then the other end is held back. What all
/// of them keep has at most as many bytes as the instance may have memory; a connection with more is closed with 1013.
///
///   add() ─▶ being opened ─opened()─▶ open ─closed()─▶ closed ─ its unread messages have been received ─▶ gone
///                └─ not_opened() ─▶ gone      drop(): nobody can name it any more ─▶ gone
///
/// Threads: the instance's turns.
class connections {
 public:
  connections(tasks& with, state& of, std::size_t most) : tasks_(with), state_(of), most_(most) {}
  ~connections() { end_all(1001, "the application's instance has ended"); }
  connections(const connections&) = delete;
  connections& operator=(const connections&) = delete;

  // ── For functions that scripts call ─────────────────────────────────────────────────────────
  /// Raises an error if there are too many.
  connection& add(lua_State* in, std::uint64_t id);
  /// Null: it is gone.
  [[nodiscard]] connection* find(std::uint64_t id) noexcept;
  /// Pushes data and whether it is binary; or nil, why, code and reason. Nothing, and 0: it has to wait.
  int receive(lua_State* in, std::uint64_t id, connection& from);
  void drop(std::uint64_t id) noexcept;

  // ── What has come ───────────────────────────────────────────────────────────────────────────
  void opened(std::uint64_t id, http::websocket socket);
  void not_opened(std::uint64_t id, const std::string& why);
  void said(connection_said&& m);
  void closed(connection_closed&& m);
  /// True if it was a time-out of who receives.
  bool timed_out(std::uint64_t wait);

  /// Says goodbye to all; what they say is still heard.
  void close_all(std::uint16_t code, const std::string& reason);
  /// And forgets them.
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
  std::size_t unread_bytes_ = 0;  // of all
  std::map<std::uint64_t, connection> all_;
};

}  // namespace troupe::lua::detail
