// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>

#include "byte_allowance.hpp"
#include "channel_order.hpp"
#include "messages.hpp"
#include "rpc.hpp"

namespace troupe::lua::detail {

/// A call whose predecessor on its channel has not finished. Its text has left the mailbox and is
/// not in the Lua state yet, so it is counted separately.
struct waiting_call {
  client_said said;
  byte_allowance::share counted;

  [[nodiscard]] static std::size_t bytes_of(const client_said& said) noexcept {
    constexpr std::size_t of_the_table = 64;
    return sizeof(waiting_call) + of_the_table + said.owned_bytes();
  }
};

/// An instance's state of a connection that uses the protocol.
///
/// Threads: the instance's turns.
struct rpc_connection {
  explicit rpc_connection(encoding which) noexcept : as(which), reader(which) {}

  encoding as;
  rpc_reader reader;
  channel_order order;
  std::unordered_map<channel_order::ticket, waiting_call> waiting;
};

}  // namespace troupe::lua::detail
