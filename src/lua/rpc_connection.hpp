// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>

#include "channel_order.hpp"
#include "messages.hpp"
#include "rpc.hpp"

namespace troupe::lua::detail {

/// What an instance knows of a connection that talks the protocol.
///
/// Threads: the instance's turns.
struct rpc_connection {
  explicit rpc_connection(encoding which) noexcept : as(which), reader(which) {}

  encoding as;
  rpc_reader reader;
  channel_order order;
  // What has come on a channel whose call before has not ended.
  std::unordered_map<channel_order::ticket, client_said> waiting;
};

}  // namespace troupe::lua::detail
