// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/http/client.hpp>
#include <troupe/http/websocket.hpp>
#include <troupe/lua/log.hpp>
#include <troupe/troupe.hpp>

#include "rooms.hpp"
#include "rpc_connection.hpp"

namespace troupe::lua::detail {

class participation;

/// A connection, as an instance knows it.
struct client {
  std::uint64_t id = 0;
  http::websocket socket;
  std::shared_ptr<rpc_connection> rpc;  // null: it talks as it likes
};

/// A message to another application, or to an actor that is known by a name.
struct outgoing {
  std::string to;
  std::string key;  // which instance; empty: any
  std::string method;
  std::string value;  // in CBOR
};

/// What a program has around it: its instance's actor, or, while it is only checked, nothing.
///
/// Threads: the instance's turns.
class surroundings {
 public:
  [[nodiscard]] virtual std::string_view application() const noexcept = 0;
  [[nodiscard]] virtual unsigned instance_number() const noexcept = 0;

  virtual void log(severity how, std::string_view text) noexcept = 0;

  /// Calls program::due(what) after that time.
  virtual timer wake_after(std::uint64_t what, duration after) = 0;

  /// Null: there is no such client any more.
  [[nodiscard]] virtual const client* find(std::uint64_t id) const noexcept = 0;
  /// In their order.
  [[nodiscard]] virtual std::vector<std::uint64_t> client_ids() const = 0;
  virtual void sent_one() noexcept = 0;
  virtual rooms& all_rooms() noexcept = 0;
  /// Its part in what all applications share.
  virtual participation& shared() noexcept = 0;

  /// Calls program::answered(what, …). Throws std::invalid_argument if nobody has that name.
  virtual void ask(outgoing what, duration timeout, std::uint64_t wait) = 0;
  /// As ref::send() returns it.
  virtual delivery send(outgoing what) = 0;

  /// Makes the request. Resumes that wait with its answer, or with nil and why there is none.
  virtual void fetch(http::fetch what, std::uint64_t wait) = 0;
  /// Of a connection of this program's, from 1 on; no other one of the application has it.
  [[nodiscard]] virtual std::uint64_t next_connection() noexcept = 0;
  /// Opens it: connections::opened() or not_opened().
  virtual void connect(http::connect_websocket what, std::uint64_t connection) = 0;

 protected:
  ~surroundings() = default;
};

}  // namespace troupe::lua::detail
