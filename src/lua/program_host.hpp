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

class instance_memberships;

/// An instance's state of a connection.
struct client {
  std::uint64_t id = 0;
  http::websocket socket;
  std::shared_ptr<rpc_connection> rpc;  // null: it does not use the protocol
};

/// A message to another application, or to an actor that is registered by name.
struct outgoing {
  std::string to;
  std::string key;  // selects the instance; empty: any
  std::string method;
  std::string value;  // in CBOR
};

/// The environment of a program: its instance's actor, or nothing while it is only checked.
///
/// Threads: the instance's turns.
class program_host {
 public:
  [[nodiscard]] virtual std::string_view application() const noexcept = 0;
  [[nodiscard]] virtual unsigned instance_number() const noexcept = 0;

  virtual void log(severity how, std::string_view text) noexcept = 0;

  /// Calls program::due(what) after that time.
  virtual timer wake_after(std::uint64_t what, duration after) = 0;

  /// Returns null if the client no longer exists.
  [[nodiscard]] virtual const client* find(std::uint64_t id) const noexcept = 0;
  /// In order.
  [[nodiscard]] virtual std::vector<std::uint64_t> client_ids() const = 0;
  virtual void sent_one() noexcept = 0;
  virtual rooms& all_rooms() noexcept = 0;
  /// The instance's part in the state that all applications share.
  virtual instance_memberships& shared() noexcept = 0;

  /// Calls program::answered(what, …). Throws std::invalid_argument if the name is not registered.
  virtual void ask(outgoing what, duration timeout, std::uint64_t wait) = 0;
  /// Returns the result of ref::send().
  virtual delivery send(outgoing what) = 0;

  /// Makes the request. Resumes `wait` with the response, or with nil and the reason.
  virtual void fetch(http::fetch what, std::uint64_t wait) = 0;
  /// Returns an id for a connection of this program, from 1; it is unique in the application.
  [[nodiscard]] virtual std::uint64_t next_connection() noexcept = 0;
  /// Opens it. The result is reported by connections::opened() or not_opened().
  virtual void connect(http::connect_websocket what, std::uint64_t connection) = 0;

 protected:
  ~program_host() = default;
};

}  // namespace troupe::lua::detail
