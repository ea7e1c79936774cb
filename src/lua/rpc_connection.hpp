// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>

#include "byte_allowance.hpp"
#include "channel_order.hpp"
#include "messages.hpp"
#include "rpc.hpp"

namespace troupe::lua::detail {

/// A call that has come on a channel whose call before it has not ended. Its text is not in the
/// mailbox any more and not yet in the Lua state, so it is counted by itself.
struct waiting_call {
  client_said said;
  byte_allowance::share counted;

  [[nodiscard]] static std::size_t bytes_of(const client_said& said) noexcept {
    constexpr std::size_t of_the_table = 64;
    return sizeof(waiting_call) + of_the_table + said.owned_bytes();
  }
};

/// What an instance knows of a connection that talks the protocol.
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
