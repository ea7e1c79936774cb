// SPDX-License-Identifier: Apache-2.0

#include "outgoing_client.hpp"

#include <mutex>
#include <stdexcept>
#include <utility>

namespace troupe::lua::detail {
namespace {

// Limit of a message to a script; it also has to fit into the memory of its instance.
constexpr std::size_t message_bytes_max = 1024 * 1024;
// The number of messages of one connection that may wait for the instance.
constexpr std::size_t messages_ahead = 4;

}  // namespace

ref<http::client> outgoing_client::get() {
  const std::lock_guard lock(mutex_);
  if (over_) throw std::runtime_error("the application has been stopped");
  if (!loop_) {
    http::client_options how;
    how.allowed = options_.outgoing;
    how.trusted_certificates = options_.outgoing_trusted;
    how.bytes_max = options_.outgoing_bytes;
    how.websocket_limits.send_queues_bytes = options_.outgoing_bytes;
    how.websocket_limits.partial_messages_bytes = options_.outgoing_bytes;
    how.websocket_limits.message_bytes = message_bytes_max;
    how.websocket_limits.receive_window = messages_ahead;
    // Each instance has a limit of its own, which is lower.
    how.websockets_max = options_.limits.connections * options_.instances;
    auto loop = std::make_unique<net::loop>(system_, options_.name + "-out");
    client_ = http::client::spawn(system_, *loop, std::move(how));
    loop_ = std::move(loop);
  }
  return client_;
}

void outgoing_client::end() noexcept {
  std::unique_ptr<net::loop> loop;
  ref<http::client> client;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    loop = std::move(loop_);
    client = std::move(client_);
  }
}

}  // namespace troupe::lua::detail
